import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach } from 'vitest';

const CHANNEL = 'clinic-mirror:state-damaged';

/** Records what this process finds damaged in each test, as `<owner> <kind>`, each once. */
export function useDamage(): Set<string> {
  const found = new Set<string>();
  const take = (message: unknown) => {
    const { owner, kind } = message as { owner: string; kind: string };
    found.add(`${owner} ${kind}`);
  };
  beforeEach(() => {
    found.clear();
    subscribe(CHANNEL, take);
  });
  afterEach(() => void unsubscribe(CHANNEL, take));
  return found;
}
