/** Part of a time after which others succeed us that we don't use: for a timer that rings late, and for a call that is just going out. */
export const MARGIN_SHARE = 0.1;

/** A time in which a process lives to all others. What it took in one life is lost with it. */
export interface Life {
  /** Leases, and places in their lines, begin with it. It never comes again. */
  readonly id: string;
  /**
   * Aborted when the life ends, before anybody else can know. Read it again before each use: that looks at the time, also where no timer
   * could ring since the process stood still.
   */
  readonly over: AbortSignal;
}

/** The life of this process. */
export interface OwnLife extends Life {
  /** Prolongs it: Redis has answered a beat. @param sentAt when that was sent: whoever saw it did so no earlier */
  wasHeard(sentAt: number): void;
}

/** For what never ends. */
export const ENDLESS = new AbortController().signal;

/** A life that begins when it is first heard of. @param silentMs others take over when they have seen no beat for so long */
export function createLife(id: string, silentMs: number): OwnLife {
  const ended = new AbortController();
  /** Null before it is heard of. */
  let until: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const end = () => {
    clearTimeout(timer);
    ended.abort();
  };
  const look = () => {
    if (until !== null && performance.now() >= until) end();
    return ended.signal;
  };
  return {
    id,
    get over() {
      return look();
    },
    wasHeard(sentAt) {
      // An answer that comes too late prolongs nothing: others may have taken over.
      if (look().aborted) return;
      until = Math.max(until ?? 0, sentAt + silentMs * (1 - MARGIN_SHARE));
      clearTimeout(timer);
      timer = setTimeout(end, Math.max(0, until - performance.now())).unref();
    },
  };
}
