import type { ContractKit } from './contract-kit.ts';

/** One case of the contract; its title is the same for all connectors and unique. */
export interface ContractCase {
  group: string;
  title: string;
  run(kit: ContractKit): Promise<void>;
}

/** Names a group's cases: title → what happens. */
export function group(name: string, runs: Record<string, ContractCase['run']>): ContractCase[] {
  return Object.entries(runs).map(([title, run]) => ({ group: name, title, run }));
}
