import type { ObjectType } from './object-types.ts';
import { emailsOf, type StoredRecord } from './record-store.ts';
import { maySee, type Writer } from './records.ts';
import type { World } from './world.ts';

/** A record in the form of the API. */
export interface RecordResource {
  id: string;
  properties: Record<string, string | null>;
  createdAt: string;
  updatedAt: string;
  archived: boolean;
  archivedAt?: string;
}

/** Reader of a record and the properties that the reader requested. */
export interface View {
  world: World;
  type: ObjectType;
  reader: Writer;
  /** Names of properties; `default` for the vendor's default selection, `all` for every set property. */
  properties: readonly string[] | 'default' | 'all';
}

/** Builds the answer. Unknown properties and properties that the reader cannot see are left out; unset properties are null. */
export function toResource(record: StoredRecord, { world, type, reader, properties }: View): RecordResource {
  const values: Record<string, string> = {
    ...record.properties,
    ...(type.name === 'contacts' ? world.preferences.optOuts(emailsOf(record)) : {}),
    hs_object_id: record.id,
    [type.createdProperty]: new Date(record.createdAt).toISOString(),
    [type.modifiedProperty]: new Date(record.updatedAt).toISOString(),
  };
  const always = ['hs_object_id', type.createdProperty, type.modifiedProperty];
  const wanted = properties === 'all' ? Object.keys(values) : properties === 'default' ? type.shown : properties;
  const names = [...new Set([...always, ...wanted])].filter((name) => {
    const property = world.properties.find(type.name, name);
    return property !== undefined && maySee(type, property.dataSensitivity, reader, 'read');
  });
  return {
    id: record.id,
    properties: Object.fromEntries(names.sort().map((name) => [name, values[name] ?? null])),
    createdAt: new Date(record.createdAt).toISOString(),
    updatedAt: new Date(record.updatedAt).toISOString(),
    archived: record.archivedAt !== undefined,
    ...(record.archivedAt === undefined ? {} : { archivedAt: new Date(record.archivedAt).toISOString() }),
  };
}
