// Starts the page, ends the login, and connects the other modules.
import { batch } from "@preact/signals";
import { Start } from "../generated/operations.ts";
import { followMemory, onMemoryEvent, stopFollowingMemory, tellOfReturn } from "./changes.ts";
import { awaited, connection, memory, sessionId } from "./current-session.ts";
import { keepDraftsOf } from "./drafts.ts";
import { isUnreachable } from "./errors.ts";
import { clearKept, readPage } from "./kept.ts";
import { account, client, loadAccount, loginMethods, logOut, resetLogin, settleVisitOffer, visitEnds } from "./login.ts";
import { copiesCursor, dropOutdatedCopy, dropUntrustedCopies, endKeeping, keepOpenSession, knownAt, notKept, watch } from "./offline.ts";
import { closeSession, leaveIfDeletedSoon, opener } from "./opening.ts";
import { sender, unsendAllEarly } from "./outgoing.ts";
import { outbox } from "./outbox.ts";
import { handleError, onLoginEnd, problem, reportProblem, startError } from "./problem.ts";
import { route } from "./route.ts";
import { changesList, refreshSessions, refreshSessionsSoon, sessions } from "./session-list.ts";
import { beforeDeadline, firstDeadline } from "./timing.ts";
import { completeStep } from "./tour.ts";
import { start, viewerRevision } from "./viewer.ts";

export async function boot(): Promise<void> {
  startError.value = null;
  try {
    if (!(await beforeDeadline(loadAccount(), firstDeadline(keepsPage)))) {
      forgetUser();
      return void (await clearKept());
    }
    start.value = await beforeDeadline(client.graphql(Start, {}));
    const { id, head } = start.value.viewer;
    keepDraftsOf(id);
    // Before the page reads what it shows.
    followMemory((await copiesCursor(id)) ?? head, { onGap: dropUntrustedCopies, onReconnect: rereadViewer });
    watch.stop();
    knownAt.value = null;
    const listed = beforeDeadline(refreshSessions());
    // A session of the URL needs no list, and each request takes long on a slow line.
    if (route.value.page !== "session") await listed;
    await Promise.all([listed, opener.openRoute()]);
    opener.followRoute();
    outbox.expire();
    sender.sendAll();
  } catch (error) {
    if (isUnreachable(error)) {
      watch.start();
      if (await showKeptPage()) return;
    }
    startError.value = handleError(error);
  }
}

/** Whether this page is empty, and could show what this browser keeps. */
const keepsPage = async () => start.value === null && (await readPage()) !== null;

/** Shows what this browser keeps of its last user. Returns false if it keeps nothing. */
async function showKeptPage(): Promise<boolean> {
  // A page that is open already shows more.
  if (memory.value ?? knownAt.value) return true;
  const kept = await readPage();
  if (!kept || (start.value && start.value.viewer.id !== kept.account)) return false;
  batch(() => {
    start.value = kept.start;
    keepDraftsOf(kept.account);
    sessions.value = [...kept.sessions];
    account.value = kept.who;
    visitEnds.value = kept.visitEnds;
    knownAt.value = kept.knownAt;
  });
  await opener.openRoute();
  opener.followRoute();
  return true;
}

function forgetUser() {
  closeSession();
  endKeeping();
  stopFollowingMemory();
  watch.stop();
  batch(() => {
    start.value = connection.value = knownAt.value = notKept.value = awaited.value = null;
    sessions.value = [];
    unsendAllEarly();
  });
}

/** No event tells of another role or other settings of the server. */
function rereadViewer() {
  viewerRevision.value += 1;
  refreshSessionsSoon();
}

/** Removes the user's data from the page and shows the login page. */
async function handleLoginEnd(): Promise<void> {
  forgetUser();
  await clearKept();
  await resetLogin();
  if (loginMethods.value) problem.value = startError.value = null;
  // The user has logged in in another tab.
  else await boot();
}

/** Ends the login or the visit, and deletes what this browser keeps of the user. */
export async function leave(): Promise<void> {
  const user = start.value?.viewer.id;
  // Without a user, a late answer is not kept.
  forgetUser();
  try {
    await logOut(user);
  } catch {
    problem.value = "You are still logged in: the server cannot be reached.";
    await boot();
  }
}

/** Moves the data of the visit into the account, or deletes it. */
export async function settleVisit(adopt: boolean): Promise<void> {
  try {
    const adopted = await settleVisitOffer(adopt);
    if (start.value) outbox.adopt(start.value.viewer.id, adopted);
    sender.sendAll();
    await refreshSessions();
    // Reload: the account now owns the visit's session, and the open session may have new facts.
    const id = route.value.page === "session" ? route.value.id : sessionId.value;
    if (adopt && id) await opener.open(id);
  } catch (error) {
    reportProblem(error);
  }
}

onLoginEnd(() => void handleLoginEnd());
watch.onReturn(() => {
  problem.value = null;
  void boot().then(() => {
    viewerRevision.value += 1;
    tellOfReturn();
  });
});
onMemoryEvent((event) => {
  if (!event || event.type === "session_deleted") leaveIfDeletedSoon();
  else if (changesList(event)) refreshSessionsSoon();
  if (event?.type === "message_forgotten") completeStep("forget");
  if (event) dropOutdatedCopy(event);
});
addEventListener("online", () => sender.sendAll());
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && start.value) rereadViewer();
  // The page may be closed next.
  else keepOpenSession();
});
