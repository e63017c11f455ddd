// A delete button that asks for a second press. One button element serves both, so the focus stays.
import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { strings } from "../strings.ts";

interface Props {
  name: string;
  /** What the deletion does, in a sentence. */
  effect?: string;
  onDelete: () => Promise<unknown>;
}

export function DeleteButton({ name, effect = strings.deletion.effect, onDelete }: Props) {
  const [step, setStep] = useState<"idle" | "confirming" | "deleting">("idle");
  const press = () => {
    if (step === "idle") return setStep("confirming");
    setStep("deleting");
    void onDelete().finally(() => setStep("idle"));
  };
  return (
    <button
      type="button" class={step === "idle" ? "icon-button" : "sure"} disabled={step === "deleting"}
      aria-label={step === "idle" ? strings.deletion.label(name) : undefined}
      title={step === "idle" ? undefined : effect}
      onClick={press} onBlur={() => { if (step === "confirming") setStep("idle"); }}
      onKeyDown={(event) => { if (event.key === "Escape" && step === "confirming") setStep("idle"); }}
    >
      {step === "idle" ? <Icon name="trash" /> : step === "confirming" ? strings.deletion.sure : strings.deletion.busy}
    </button>
  );
}
