import { shared } from './errors.ts';

/**
 * State of a vendor that open targets share, such as an org's count of calls: one state per kind and name. The opener of the targets owns
 * the state, which ends with them.
 */
export class SharedState {
  readonly #named = new Map<new () => object, Map<unknown, object>>();
  readonly #owned = new Map<new () => object, WeakMap<object, object>>();

  /**
   * Returns the state of a name, created at the first use.
   * @param name equal for all users of the state; an object identifies the state by reference
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

/** Serialises work, as for several targets in one mailbox. */
export class Mutex {
  /** Resolves when all earlier work is done. */
  #last: Promise<void> = Promise.resolve();

  /**
   * Runs the work after all earlier work.
   * @throws MirrorError `remote`, code `aborted`, if the signal aborts the wait; and errors of the work
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
