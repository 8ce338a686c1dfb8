import { setTimeout as delay } from 'node:timers/promises';
import type { GuardedProcess } from './guarded-process.ts';

/** User of a private CalDAV server. */
export interface DavUser {
  readonly name: string;
  readonly password: string;
}

/** A running private CalDAV server with empty storage. */
export interface PrivateDavServer extends GuardedProcess {
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  readonly users: readonly DavUser[];
  /** Where the calendars of a user are, with a slash at its end. */
  homePathOf(user: string): string;
}

/** The default user of a server. */
export const USUAL_DAV_USERS: readonly DavUser[] = [{ name: 'clinic', password: 'secret' }];

const LOOK_EVERY_MS = 50;

/**
 * Waits until a server that does not say when it is ready answers requests; stops it when it doesn't.
 * @throws Error with what it printed, when it ends before or isn't ready in time
 */
export async function untilAnswers(url: string, server: GuardedProcess, timeoutMs: number): Promise<void> {
  try {
    await waitForAnswer(url, server, timeoutMs);
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function waitForAnswer(url: string, server: GuardedProcess, timeoutMs: number): Promise<void> {
  let ended: string | undefined;
  void server.ended.then((how) => {
    ended = how;
  });
  const deadlineAt = Date.now() + timeoutMs;
  while (!(await answers(url))) {
    if (ended !== undefined) throw new Error(`the server ended (${ended}):\n${server.recentOutput()}`);
    if (Date.now() > deadlineAt)
      throw new Error(`no answer from the server after ${timeoutMs} ms:\n${server.recentOutput()}`);
    await delay(LOOK_EVERY_MS);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
