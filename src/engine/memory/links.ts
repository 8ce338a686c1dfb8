import type { Link } from '../../core/model/operations.ts';
import type { Instant } from '../../core/model/time.ts';
import type { TimedLink } from '../diff.ts';
import type { Lease, LinkTable } from '../store.ts';
import type { MemoryLeases } from './leases.ts';

/** Links of one target, with indexes. */
interface Table {
  /** Replaced at each change: callers keep the previous map. */
  links: ReadonlyMap<string, Link>;
  /** Number of changes. */
  version: number;
  drifted: ReadonlySet<string>;
  unseen: Map<string, Instant>;
}

/** Links in memory. The table has no layout, so it is never crowded. */
export class MemoryLinks implements LinkTable {
  readonly #leases: Pick<MemoryLeases, 'check'>;
  readonly #tables = new Map<string, Table>();

  constructor(leases: Pick<MemoryLeases, 'check'>) {
    this.#leases = leases;
  }

  async read(target: string): Promise<ReadonlyMap<string, Link>> {
    return this.tableOf(target).links;
  }

  /** Returns the existing links of the given records. */
  async readSome(target: string, recordIds: readonly string[]): Promise<Map<string, Link>> {
    const { links } = this.tableOf(target);
    return new Map(recordIds.flatMap((id) => (links.has(id) ? [[id, links.get(id) as Link] as const] : [])));
  }

  async count(target: string): Promise<number> {
    return this.tableOf(target).links.size;
  }

  async drifted(target: string): Promise<Link[]> {
    const { links, drifted } = this.tableOf(target);
    return [...links.values()].filter(({ recordId, drift }) => drifted.has(recordId) && drift !== null);
  }

  async nameDrifted(target: string, recordIds: ReadonlySet<string>): Promise<void> {
    this.tableOf(target).drifted = new Set(recordIds);
  }

  async writeAll(target: string, links: readonly Link[], lease: Lease): Promise<void> {
    if (links.length === 0) return;
    this.#leases.check(lease);
    this.change(target, new Map(links.map((link) => [link.recordId, link])));
  }

  async recordTimes(target: string, timed: readonly TimedLink[], lease: Lease): Promise<void> {
    if (timed.length === 0) return;
    this.#leases.check(lease);
    const { links } = this.tableOf(target);
    const changed = new Map<string, Link>();
    for (const { recordId, fingerprint, startAt, endAt } of timed) {
      const link = links.get(recordId);
      if (link === undefined || link.fingerprint !== fingerprint) continue;
      const { isRebuilt: _, ...written } = link;
      changed.set(recordId, { ...written, startAt, endAt });
    }
    this.change(target, changed);
  }

  async release(target: string, recordIds: readonly string[], lease: Lease): Promise<void> {
    if (recordIds.length === 0) return;
    this.#leases.check(lease);
    this.change(target, new Map(recordIds.map((recordId) => [recordId, null])));
  }

  async clear(target: string, lease: Lease): Promise<void> {
    this.#leases.check(lease);
    const table = this.tableOf(target);
    table.links = new Map();
    table.version += 1;
  }

  async isCrowded(): Promise<boolean> {
    return false;
  }

  async fit(): Promise<void> {}

  /** Returns records written while a change feed was followed and not fetched since, with the time of the write. */
  async unseen(target: string): Promise<Map<string, Instant>> {
    return new Map(this.tableOf(target).unseen);
  }

  async recordSeen(target: string, recordIds: Iterable<string>): Promise<void> {
    const { unseen } = this.tableOf(target);
    for (const recordId of recordIds) unseen.delete(recordId);
  }

  /** Returns the version of a target's links; null before the first change. */
  versionOf(target: string): string | null {
    const { version } = this.tableOf(target);
    return version === 0 ? null : String(version);
  }

  /** Writes links, or removes those that are null, without a lease. */
  change(target: string, changed: ReadonlyMap<string, Link | null>): void {
    const table = this.tableOf(target);
    const links = new Map(table.links);
    for (const [recordId, link] of changed) {
      if (link === null) links.delete(recordId);
      else links.set(recordId, link);
    }
    table.links = links;
    table.version += 1;
  }

  /** Returns a target's table, for changes together with the outbox. */
  tableOf(target: string): Table {
    const table = this.#tables.get(target) ?? { links: new Map(), version: 0, drifted: new Set(), unseen: new Map() };
    this.#tables.set(target, table);
    return table;
  }
}
