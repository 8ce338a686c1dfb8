import { ApiError } from './errors.ts';
import { comparable, type Field, type FieldValue } from './fields.ts';
import { toLongId } from './ids.ts';
import { attributesOf, fieldValue } from './record-body.ts';
import type { Schema, SObject } from './schema.ts';
import type { Comparison, Condition, Query } from './soql-parser.ts';
import type { StoredRecord } from './store.ts';
import type { World } from './world.ts';

/** Path from a record to a value: a field, or a field of a parent. */
interface Path {
  /** Reference field to the parent. The answer shows the parent under the field's relationship name. */
  relation: Field | undefined;
  parent: SObject | undefined;
  field: Field;
}

/** Returns the records that match a query, with or without the recycle bin. Throws ApiError 400. */
export function findRecords(world: World, query: Query, withDeleted: boolean): StoredRecord[] {
  const object = queriedObject(world.schema, query);
  const fits = query.where ? compile(world, object, query.where) : () => true;
  const all = withDeleted ? world.store.all(object.name) : world.store.live(object.name);
  const found = all.filter(fits);
  const orders = query.orderBy.map((order) => ({
    ...order,
    read: reader(world, pathOf(world.schema, object, order.field)),
  }));
  found.sort((one, other) => {
    for (const { read, isDescending, nullsLast } of orders) {
      const [a, b] = [read(one), read(other)];
      const result =
        a === null || b === null ? (a === b ? 0 : (a === null) === nullsLast ? 1 : -1) : compareValues(a, b);
      if (result !== 0) {
        return isDescending && a !== null && b !== null ? -result : result;
      }
    }
    return 0;
  });
  return found.slice(query.offset, query.limit === undefined ? undefined : query.offset + query.limit);
}

/** Returns a function that shows a record in the form of the query. Throws ApiError 400 for a field hidden from the user. */
export function shownBy(world: World, query: Query, base: string): (record: StoredRecord) => object {
  const object = queriedObject(world.schema, query);
  const paths = query.fields.map((name) => pathOf(world.schema, object, name));
  return (record) => {
    const shown: Record<string, unknown> = { attributes: attributesOf(record, object, base) };
    for (const path of paths) {
      const value = reader(world, path)(record);
      const { relation, parent, field } = path;
      if (!relation || !parent) {
        shown[field.name] = value;
        continue;
      }
      const owner = world.store.find(String(fieldValue(record, relation) ?? ''));
      const name = relation.relationshipName!;
      const known = shown[name] ?? (owner && { attributes: attributesOf(owner, parent, base) });
      shown[name] = known ? { ...known, [field.name]: value } : null;
    }
    return shown;
  };
}

function queriedObject(schema: Schema, query: Query): SObject {
  const object = schema.find(query.object);
  if (!object) {
    throw new ApiError(400, 'INVALID_TYPE', `sObject type '${query.object}' is not supported.`);
  }
  return object;
}

function pathOf(schema: Schema, object: SObject, name: string): Path {
  const [first = '', second, ...more] = name.split('.');
  if (second === undefined) {
    return { relation: undefined, parent: undefined, field: schema.field(object, first) };
  }
  const relations = schema.visibleFields(object);
  const relation = relations.find((field) => field.relationshipName?.toLowerCase() === first.toLowerCase());
  const parent = schema.find(relation?.referenceTo[0] ?? '');
  if (!relation || !parent || more.length > 0) {
    throw new ApiError(400, 'INVALID_FIELD', `Didn't understand relationship '${first}' in field path.`);
  }
  return { relation, parent, field: schema.field(parent, second) };
}

function reader(world: World, { relation, field }: Path): (record: StoredRecord) => FieldValue {
  return (record) => {
    const owner = relation ? world.store.find(String(fieldValue(record, relation) ?? '')) : record;
    return owner ? fieldValue(owner, field) : null;
  };
}

function compile(world: World, object: SObject, condition: Condition): (record: StoredRecord) => boolean {
  switch (condition.kind) {
    case 'not': {
      const part = compile(world, object, condition.part);
      return (record) => !part(record);
    }
    case 'and':
    case 'or': {
      const parts = condition.parts.map((part) => compile(world, object, part));
      return condition.kind === 'and'
        ? (record) => parts.every((part) => part(record))
        : (record) => parts.some((part) => part(record));
    }
    case 'compare': {
      const path = pathOf(world.schema, object, condition.field);
      return compileComparison(path.field, reader(world, path), condition.comparison, condition.values);
    }
  }
}

function compileComparison(
  field: Field,
  read: (record: StoredRecord) => FieldValue,
  comparison: Comparison,
  values: readonly FieldValue[],
): (record: StoredRecord) => boolean {
  if (field.type === 'textarea' && field.length > 255) {
    throw new ApiError(400, 'INVALID_FIELD', `field '${field.name}' can not be filtered in a query call`);
  }
  const isId = field.type === 'id' || field.type === 'reference';
  const wanted = values.map((value) => (isId && typeof value === 'string' ? (toLongId(value) ?? value) : value));
  const form = (value: FieldValue): string | null => (value === null ? null : comparable(field, value));
  const forms = new Set(wanted.map(form));
  const [first = null] = wanted;
  switch (comparison) {
    case '=':
    case 'IN':
      return (record) => forms.has(form(read(record)));
    case '!=':
    case 'NOT IN':
      return (record) => !forms.has(form(read(record)));
    case 'LIKE': {
      const pattern = likePattern(String(first));
      return (record) => pattern.test(String(read(record) ?? ''));
    }
    default:
      return (record) => {
        const value = read(record);
        const result = value === null || first === null ? Number.NaN : compareValues(value, first);
        return comparison.startsWith('<')
          ? result < 0 || (comparison === '<=' && result === 0)
          : result > 0 || (comparison === '>=' && result === 0);
      };
  }
}

/** `%` matches any string, `_` one character. LIKE is case-insensitive. */
function likePattern(like: string): RegExp {
  const source = like.replace(/\\[%_]|[%_]|[\\^$.*+?()[\]{}|]/g, (found) => {
    const wildcard = { '%': '.*', _: '.' }[found];
    return wildcard ?? (found.length === 2 ? found[1]! : `\\${found}`);
  });
  return new RegExp(`^${source}$`, 'is');
}

function compareValues(one: FieldValue, other: FieldValue): number {
  if (typeof one === 'number' && typeof other === 'number') {
    return one - other;
  }
  const [a, b] = [String(one).toLowerCase(), String(other).toLowerCase()];
  return a < b ? -1 : a > b ? 1 : 0;
}
