import { invalidInput } from './errors.ts';
import { type ObjectType, type ObjectTypeName, objectType } from './object-types.ts';

/** A type of association between two object types, in one direction. */
export interface AssociationType {
  from: ObjectTypeName;
  to: ObjectTypeName;
  typeId: number;
  label: string | null;
  /** Number of the type in the opposite direction. */
  inverse: number;
}

/** One of the two records of an association. */
export interface End {
  object: ObjectTypeName;
  id: string;
}

/** The vendor's standard types (developers.hubspot.com, associations v4, type ids); the first type of a pair is the default. */
const PAIRS: [from: ObjectTypeName, to: ObjectTypeName, typeId: number, inverse: number, label: string | null][] = [
  ['contacts', 'companies', 279, 280, null],
  ['contacts', 'companies', 1, 2, 'Primary'],
  ['contacts', 'deals', 4, 3, null],
  ['contacts', 'meetings', 199, 200, null],
  ['contacts', 'contacts', 449, 449, null],
  ['companies', 'deals', 342, 341, null],
  ['companies', 'deals', 6, 5, 'Primary'],
  ['companies', 'meetings', 187, 188, null],
  ['deals', 'meetings', 211, 212, null],
  ['contacts', 'visits', 51, 52, null],
];

const TYPES: readonly AssociationType[] = PAIRS.flatMap(([from, to, typeId, inverse, label]) => {
  const forth = { from, to, typeId, inverse, label };
  return typeId === inverse ? [forth] : [forth, { from: to, to: from, typeId: inverse, inverse: typeId, label }];
});

/** Returns the association types between two object types, the default first. */
function typesBetween(from: ObjectTypeName, to: ObjectTypeName): AssociationType[] {
  return TYPES.filter((type) => type.from === from && type.to === to);
}

/** Returns the default association type between two object types. Throws HubSpotError 400 if the object types cannot be associated. */
export function defaultType(from: ObjectType, to: ObjectType): AssociationType {
  const [first] = typesBetween(from.name, to.name);
  if (!first) {
    throw invalidInput(`There is no association between ${from.name} and ${to.name}.`);
  }
  return first;
}

/**
 * Returns the association type with this number between two object types.
 * @throws HubSpotError 400 if the two object types have no such association type
 */
export function requireType(from: ObjectType, to: ObjectType, category: string, typeId: number): AssociationType {
  const found = TYPES.find((type) => type.from === from.name && type.typeId === typeId);
  if (category !== 'HUBSPOT_DEFINED' || found?.to !== to.name) {
    throw invalidInput(`invalid from object type ${from.typeId} for association type ${typeId}`);
  }
  return found;
}

/** Returns the object type at the other end of an association type; undefined if `from` has no type with this number. */
export function objectBehind(from: ObjectType, typeId: number): ObjectType | undefined {
  const found = TYPES.find((type) => type.from === from.name && type.typeId === typeId);
  return found && objectType(found.to);
}

/** The associations between records, with their types. */
export class Associations {
  /** By `object:id`, then by `object:id` of the other end: numbers of types. */
  readonly #byEnd = new Map<string, Map<string, Set<number>>>();

  /** Associates two records in both directions. A labelled type adds the default type too. */
  add(from: End, to: End, type: AssociationType): void {
    const [plain] = typesBetween(from.object, to.object);
    for (const each of plain && plain.typeId !== type.typeId ? [plain, type] : [type]) {
      this.#typesOf(from, to).add(each.typeId);
      this.#typesOf(to, from).add(each.inverse);
    }
  }

  remove(from: End, to: End): void {
    this.#byEnd.get(keyOf(from))?.delete(keyOf(to));
    this.#byEnd.get(keyOf(to))?.delete(keyOf(from));
  }

  /** Returns the associated records of one object type, with the association types. */
  of(from: End, to: ObjectTypeName): { id: string; types: AssociationType[] }[] {
    return [...(this.#byEnd.get(keyOf(from)) ?? [])].flatMap(([key, typeIds]) => {
      const [object, id = ''] = key.split(':');
      const types = typesBetween(from.object, to).filter(({ typeId }) => typeIds.has(typeId));
      return object === to ? [{ id, types }] : [];
    });
  }

  /** Moves every association of one record to another record of the same object type, or deletes them if `to` is undefined. */
  move(from: End, to: End | undefined): void {
    for (const [key, typeIds] of [...(this.#byEnd.get(keyOf(from)) ?? [])]) {
      const other = endOf(key);
      this.remove(from, other);
      const isItself = to !== undefined && keyOf(to) === key;
      for (const type of to && !isItself ? typesBetween(to.object, other.object) : []) {
        if (to && typeIds.has(type.typeId)) {
          this.add(to, other, type);
        }
      }
    }
    this.#byEnd.delete(keyOf(from));
  }

  #typesOf(from: End, to: End): Set<number> {
    const others = this.#byEnd.get(keyOf(from)) ?? new Map<string, Set<number>>();
    this.#byEnd.set(keyOf(from), others);
    const types = others.get(keyOf(to)) ?? new Set<number>();
    others.set(keyOf(to), types);
    return types;
  }
}

function keyOf({ object, id }: End): string {
  return `${object}:${id}`;
}

function endOf(key: string): End {
  const [object = '', id = ''] = key.split(':');
  return { object: objectType(object as ObjectTypeName).name, id };
}
