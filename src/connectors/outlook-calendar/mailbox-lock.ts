import { MirrorError } from '../../model/errors.ts';

/** Lets one request at a time through for each mailbox of this process. */
export interface MailboxLock {
  /**
   * Runs the work when those before it are done.
   * @throws MirrorError `remote`, code `aborted`, when the signal ends the waiting; and what the work throws
   */
  run<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result>;
}

/** When the last work of each mailbox will be done; an entry goes when nothing is under way any more. */
const lasts = new Map<unknown, Promise<void>>();

/**
 * The lock of a mailbox. Outlook works on four requests of a mailbox at once, as many as one batch fills, so several targets
 * in one mailbox take turns.
 * @param mailbox equal for those that take turns
 */
export function mailboxLock(mailbox: unknown): MailboxLock {
  return {
    async run(work, signal) {
      const before = lasts.get(mailbox) ?? Promise.resolve();
      const { promise: mine, resolve: done } = Promise.withResolvers<void>();
      const last = before
        .then(() => mine)
        .then(() => {
          if (lasts.get(mailbox) === last) lasts.delete(mailbox);
        });
      lasts.set(mailbox, last);
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
