import { RowFailure } from './errors.ts';
import { comparable, type Field, type FieldValue } from './fields.ts';
import type { SObject } from './schema.ts';
import { isLive } from './store.ts';
import { readValue } from './values.ts';
import type { World } from './world.ts';

/** How a row identifies its record. */
export type RowTarget = { by: 'new' } | { by: 'id'; id: string } | { by: 'key'; field: Field; value: FieldValue };

/** A row in the form that the client sent. */
export interface RowRequest {
  object: SObject;
  target: RowTarget;
  /** JSON. The caller leaves out `attributes` and `Id`; otherwise both are ignored. */
  body: Readonly<Record<string, unknown>>;
  /** A manual change: field-level security of the integration's user does not apply. */
  isAdministrator?: boolean;
}

/** A parsed row. A parent given by external id is replaced with the parent's id. */
export interface ReadRow {
  request: RowRequest;
  values: Map<Field, FieldValue>;
  /** Failure found before the write. */
  failure: RowFailure | undefined;
}

/** Parses a row. Throws ApiError, which refuses the whole request, for unknown or hidden fields and for values of the wrong type. */
export function readRow(world: World, request: RowRequest): ReadRow {
  const { object, body, isAdministrator = false } = request;
  const values = new Map<Field, FieldValue>();
  let failure: RowFailure | undefined;
  for (const [name, value] of Object.entries(body)) {
    if (name === 'attributes' || name.toLowerCase() === 'id') {
      continue;
    }
    const relation = typeof value === 'object' && value !== null ? relationOf(world, object, name) : undefined;
    const field = relation ?? world.schema.field(object, name, isAdministrator);
    const isGranted = isAdministrator || world.schema.access(object, field) === 'edit';
    if (field.readOnly || object.readOnly || !isGranted) {
      failure ??= notWritable(field);
    } else if (relation) {
      const parent = findParent(world, relation, value as Record<string, unknown>);
      failure ??= parent instanceof RowFailure ? parent : undefined;
      values.set(field, parent instanceof RowFailure ? null : parent);
    } else {
      values.set(field, readValue(field, value, world.settings.lowercaseEmails));
    }
  }
  return { request, values, failure };
}

/** Returns the name of a row for fault rules and messages: the key, the id, or `new`. */
export function nameOfRow({ target }: RowRequest): string {
  return target.by === 'new' ? 'new' : target.by === 'id' ? target.id : String(target.value);
}

/** Sets a failure on every row whose key occurs more than once in the list, regardless of stored records. */
export function refuseRepeatedKeys(rows: readonly ReadRow[]): void {
  const byKey = Map.groupBy(rows, ({ request: { target } }) =>
    target.by === 'key' ? comparable(target.field, target.value) : undefined,
  );
  for (const [key, same] of byKey) {
    const target = same[0]!.request.target;
    if (key !== undefined && target.by === 'key' && same.length > 1) {
      for (const row of same) {
        const message = `Duplicate external id specified: ${target.value}: [${target.field.name}]`;
        row.failure = new RowFailure('DUPLICATE_VALUE', message, [target.field.name]);
      }
    }
  }
}

function relationOf({ schema }: World, object: SObject, name: string): Field | undefined {
  const visible = schema.visibleFields(object);
  return visible.find((field) => field.relationshipName?.toLowerCase() === name.toLowerCase());
}

/** Returns the id of the parent in `{"Clinic_Key__c": "…"}`, or the failure. Throws ApiError for an unknown field. */
function findParent(world: World, relation: Field, reference: Record<string, unknown>): string | RowFailure {
  const { attributes, ...keys } = reference;
  const named =
    typeof attributes === 'object' && attributes !== null && 'type' in attributes ? attributes.type : undefined;
  const parent = world.schema.object(typeof named === 'string' ? named : relation.referenceTo[0]!);
  const [[name, value] = ['', null], ...more] = Object.entries(keys);
  if (more.length > 0) {
    return new RowFailure('INVALID_FIELD', 'More than 1 field provided in an external foreign key reference');
  }
  const field = world.schema.field(parent, name);
  const key = readValue(field, value, world.settings.lowercaseEmails);
  const found = field.externalId && key !== null ? world.store.withKey(parent.name, field, key).filter(isLive) : [];
  const [only] = found;
  if (!only || found.length > 1) {
    const message = `Foreign key external ID: ${key} not found for field ${field.name} in entity ${parent.name}`;
    return new RowFailure('INVALID_FIELD', message);
  }
  return only.id;
}

function notWritable({ name }: Field): RowFailure {
  const message =
    `Unable to create/update fields: ${name}. Please check the security settings of this field and verify that it is ` +
    'read/write for your profile or permission set.';
  return new RowFailure('INVALID_FIELD_FOR_INSERT_UPDATE', message, [name]);
}
