// A delete button that asks for a second press. One button element serves both, so the focus stays.
import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";

export function DeleteButton({ name, onDelete }: { name: string; onDelete: () => Promise<unknown> }) {
  const [step, setStep] = useState<"idle" | "confirming" | "deleting">("idle");
  const press = () => {
    if (step === "idle") return setStep("confirming");
    setStep("deleting");
    void onDelete().finally(() => setStep("idle"));
  };
  return (
    <button
      type="button" class={step === "idle" ? "icon-button" : "sure"} disabled={step === "deleting"}
      aria-label={step === "idle" ? `Delete ${name}` : undefined}
      title={step === "idle" ? undefined : "Deletes the file and its passages. Facts that rest on nothing else are forgotten."}
      onClick={press} onBlur={() => { if (step === "confirming") setStep("idle"); }}
      onKeyDown={(event) => { if (event.key === "Escape" && step === "confirming") setStep("idle"); }}
    >
      {step === "idle" ? <Icon name="trash" /> : step === "confirming" ? "Delete?" : "Deleting"}
    </button>
  );
}
