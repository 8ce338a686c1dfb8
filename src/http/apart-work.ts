import { parentPort } from 'node:worker_threads';
import { MirrorError } from '../model/errors.ts';

/** What a thread replies each time that it is asked: the next piece, that none is left, or why there is none. */
export type ApartReply = { piece: unknown } | { done: true } | { code: string; message: string };

/**
 * The inside of a thread for `Apart`: one request at a time; null asks for the next piece.
 * @param work throws MirrorError to refuse; its message must be constant
 */
export function answerApart<Request>(work: (request: Request) => Iterator<unknown>): void {
  let pieces: Iterator<unknown> | null = null;
  parentPort?.on('message', (request: Request | null) => {
    try {
      if (request !== null) pieces = work(request);
      const next = pieces?.next();
      const isDone = next === undefined || next.done === true;
      if (isDone) pieces = null;
      parentPort?.postMessage(isDone ? { done: true } : { piece: next.value });
    } catch (error) {
      pieces = null;
      // Anything else ends the thread.
      if (!(error instanceof MirrorError)) throw error;
      parentPort?.postMessage({ code: error.code, message: error.message });
    }
  });
}
