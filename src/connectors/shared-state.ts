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
