import { MirrorError } from '../model/errors.ts';

/** Lets one piece of work at a time through. */
export interface Turns {
  /**
   * Runs the work when those before it are done.
   * @throws MirrorError `remote`, code `aborted`, when the signal ends the waiting; and what the work throws
   */
  run<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result>;
}

/** When the last work of each name will be done; an entry goes when nothing is under way any more. */
const lasts = new Map<unknown, Promise<void>>();

/**
 * The turns of one name within this process: several targets in one mailbox, or in one org, wait for each other.
 * @param name equal for those that take turns
 */
export function turnsOf(name: unknown): Turns {
  return {
    async run(work, signal) {
      const before = lasts.get(name) ?? Promise.resolve();
      const { promise: mine, resolve: done } = Promise.withResolvers<void>();
      const last = before
        .then(() => mine)
        .then(() => {
          if (lasts.get(name) === last) lasts.delete(name);
        });
      lasts.set(name, last);
      try {
        await until(before, signal);
        return await work();
      } finally {
        done();
      }
    },
  };
}

async function until(before: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = () => reject(stoppedWaiting());
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([stopped, before]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function stoppedWaiting(): MirrorError {
  return new MirrorError('the request was stopped', { actor: 'remote', code: 'aborted', retry: 'later' });
}
