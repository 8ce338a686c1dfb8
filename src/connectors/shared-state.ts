import { shared } from './errors.ts';

/**
 * What open targets share of a remote side, such as the count of calls of an org: one state of each kind for each name. Its owner is
 * whoever opened the targets, and it ends with them.
 */
export class SharedState {
  readonly #named = new Map<new () => object, Map<unknown, object>>();
  readonly #owned = new Map<new () => object, WeakMap<object, object>>();

  /**
   * The state of one name, made when it is first asked for.
   * @param name equal for those that share it; an object when only the same one leads there
   */
  of<State extends object>(kind: new () => State, name: string | object): State {
    const make = () => new kind();
    const state =
      typeof name === 'string'
        ? getOrMake(
            getOrMake(this.#named, kind, () => new Map()),
            name,
            make,
          )
        : getOrMake(
            getOrMake(this.#owned, kind, () => new WeakMap()),
            name,
            make,
          );
    return state as State;
  }
}

interface Values<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

function getOrMake<Key, Value>(values: Values<Key, Value>, key: Key, make: () => Value): Value {
  const value = values.get(key) ?? make();
  values.set(key, value);
  return value;
}

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
