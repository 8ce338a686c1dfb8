/** Value of a field in the API's JSON. Dates are `2027-03-01`, instants `2027-03-01T09:00:00.000+0000`. */
export type FieldValue = string | number | boolean | null;

export type FieldType =
  | 'id'
  | 'string'
  | 'textarea'
  | 'email'
  | 'phone'
  | 'url'
  | 'boolean'
  | 'int'
  | 'double'
  | 'currency'
  | 'date'
  | 'datetime'
  | 'picklist'
  | 'reference';

/** Access of the integration's user to a field (field-level security). */
export type FieldAccess = 'edit' | 'read' | 'hidden';

/** A field as a test configures it; the defaults are the vendor's. */
export interface FieldOptions {
  name: string;
  /** Default: the field name, split into words. */
  label?: string;
  type: FieldType;
  /** Characters; default 255, 80 for e-mail, 40 for phones, 32,000 for long text. */
  length?: number;
  required?: boolean;
  externalId?: boolean;
  unique?: boolean;
  /** Whether keys that differ only in case are different keys. */
  caseSensitive?: boolean;
  values?: string[];
  /** Labels of the values that have a label different from the value. */
  labels?: Record<string, string>;
  /** Values outside of `values` are refused. */
  restricted?: boolean;
  referenceTo?: string[];
  /** Name under which a row refers to the parent by external id, e.g. `Account`. */
  relationshipName?: string;
  /** Deleting the parent deletes this record too. */
  cascades?: boolean;
  /** Set by the vendor only. */
  readOnly?: boolean;
}

/** A field of an object with every default filled in. */
export type Field = Required<Omit<FieldOptions, 'relationshipName'>> & {
  relationshipName: string | undefined;
  isCustom: boolean;
};

const LENGTHS: Partial<Record<FieldType, number>> = {
  id: 18,
  reference: 18,
  email: 80,
  phone: 40,
  textarea: 32_000,
  string: 255,
  url: 255,
  picklist: 255,
};

/** Returns a field with the vendor's defaults. */
export function toField(options: FieldOptions): Field {
  return {
    label: options.name
      .replace(/__p?c$/, '')
      .replaceAll('_', ' ')
      .replace(/([a-z])([A-Z])/g, '$1 $2'),
    length: LENGTHS[options.type] ?? 0,
    required: false,
    externalId: false,
    unique: false,
    caseSensitive: false,
    values: [],
    labels: {},
    restricted: false,
    referenceTo: [],
    cascades: false,
    readOnly: false,
    ...options,
    relationshipName: options.relationshipName,
    isCustom: /__p?c$/.test(options.name),
  };
}

/** Returns the form in which two values of a field are compared. */
export function comparable(field: Field, value: FieldValue): string {
  const text = String(value);
  return field.caseSensitive ? text : text.toLowerCase();
}
