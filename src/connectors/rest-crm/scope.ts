import type { Logger } from '../../log/logger.ts';
import type { MappedProperty } from '../../model/items.ts';
import type { StreamName } from '../../model/streams.ts';
import type { PropertyRule } from '../fitting.ts';
import type { Choices } from '../options.ts';
import type { CrmClient } from './client.ts';
import type { CrmDescription, CrmResource } from './description.ts';

/** One target, as a call works with it. */
export interface Scope {
  client: CrmClient;
  description: CrmDescription;
  /** How the stream's records are found and written. */
  resource: CrmResource;
  stream: StreamName;
  properties: readonly MappedProperty[];
  /** What words of the mapping stand for in lists of the CRM, by property. */
  choices: ReadonlyMap<string, Choices>;
  /** What properties take, as far as it is known: more once the target is prepared. */
  rules: Map<string, PropertyRule>;
  /** Names of properties that errors may tell: the mapped ones, and those that the CRM lists. */
  known: Set<string>;
  ownerTag: string;
  baseUrl: string;
  log: Logger;
  signal: AbortSignal;
}

/** What every call of a resource may ask for. */
export function selection(
  { description, properties }: Pick<Scope, 'description' | 'properties'>,
  resource: CrmResource,
) {
  const { keyField, stampField, row } = resource;
  const names = [keyField, ...(stampField === undefined ? [] : [stampField]), ...properties.map(({ name }) => name)];
  const first = (name: string) => (description.names === 'nested' ? (name.split('.')[0] ?? name) : name);
  const fields = [...new Set([first(row.id), ...names.map(first)])].join(',');
  return { fields, keyField, stampField };
}
