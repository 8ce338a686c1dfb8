import type { Logger } from '../../log/logger.ts';
import type { MappedProperty } from '../../model/items.ts';
import type { StreamName } from '../../model/streams.ts';
import type { ObjectName } from './limits.ts';
import type { Paths } from './paths.ts';

/** What all work on one target goes by. */
export interface Scope {
  stream: StreamName;
  /** The kind of record that the stream becomes. */
  object: ObjectName;
  /** Every property that the mapping fills. */
  properties: readonly MappedProperty[];
  ownerTag: string;
  keyProperty: string;
  stampProperty: string;
  propertyGroup: string;
  /**
   * Names of properties that hold instants in HubSpot and whose mapping gives days. Known once the target is prepared; they are written
   * as midnight in UTC, as HubSpot keeps days.
   */
  daysAsInstants: ReadonlySet<string>;
  paths: Paths;
  log: Logger;
}

/** Names of everything that a reading asks for. */
export function namesToRead({ properties, keyProperty, stampProperty }: Scope): string[] {
  return [...new Set([keyProperty, stampProperty, ...properties.map(({ name }) => name)])];
}
