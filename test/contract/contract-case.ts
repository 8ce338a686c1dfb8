import type { AnyKit } from './contract-kit.ts';

/** One case of the contract; its title is the same for all connectors of a family and unique there. */
export interface ContractCase<Kit = AnyKit> {
  group: string;
  title: string;
  run(kit: Kit): Promise<void>;
}

/** Names a group's cases: title → what happens. */
export function group<Kit = AnyKit>(
  name: string,
  runs: Record<string, (kit: Kit) => Promise<void>>,
): ContractCase<Kit>[] {
  return Object.entries(runs).map(([title, run]) => ({ group: name, title, run }));
}
