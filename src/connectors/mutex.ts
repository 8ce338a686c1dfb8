import { shared } from './errors.ts';

/** Lets one piece of work at a time through, as for several targets in one mailbox. */
export class Mutex {
  /** Until the last work that was asked for is done. */
  #last: Promise<void> = Promise.resolve();

  /**
   * Runs the work when those before it are done.
   * @throws MirrorError `remote`, code `aborted`, when the signal ends the waiting; and what the work throws
   */
  async run<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const before = this.#last;
    const { promise: mine, resolve: done } = Promise.withResolvers<void>();
    this.#last = before.then(() => mine);
    try {
      await until(before, signal);
      return await work();
    } finally {
      done();
    }
  }
}

async function until(before: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = () => reject(shared.make('aborted'));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([stopped, before]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
