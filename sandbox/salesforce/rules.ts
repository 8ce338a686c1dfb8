import { RowFailure } from './errors.ts';
import type { FieldValue } from './fields.ts';
import type { RecordStore, StoredRecord } from './store.ts';

/** A validation rule of the org: a row is refused with the administrator's message if the field matches the pattern. */
export interface ValidationRule {
  object: string;
  field: string;
  /** Source of a regular expression; an empty field is matched as an empty string. */
  refuses: string;
  message: string;
}

/** A duplicate rule of the org: another live record with equal values in all these fields is a duplicate. */
export interface DuplicateRule {
  object: string;
  fields: string[];
  /** `alert` accepts a row sent with allowSave; `block` refuses every duplicate. */
  action: 'alert' | 'block';
}

/**
 * Active in a new org with the action `alert`. Saves through the API are nevertheless refused, unless sent with allowSave. The sandbox
 * implements one line of the standard matching rule for contacts, without fuzzy matching
 * (https://help.salesforce.com/s/articleView?id=sf.duplicate_rules_standard_contact_rule.htm).
 */
const STANDARD_RULES: readonly DuplicateRule[] = [
  { object: 'Contact', fields: ['FirstName', 'LastName', 'Email'], action: 'alert' },
];

/** Rules configured by the org's administrator. */
export class OrgRules {
  validation: ValidationRule[] = [];
  duplicates: DuplicateRule[];

  constructor(hasStandardRules: boolean) {
    this.duplicates = hasStandardRules ? [...STANDARD_RULES] : [];
  }

  /** Throws RowFailure FIELD_CUSTOM_VALIDATION_EXCEPTION. */
  validate(type: string, fields: Readonly<Record<string, FieldValue>>): void {
    for (const rule of this.validation) {
      if (rule.object === type && new RegExp(rule.refuses).test(String(fields[rule.field] ?? ''))) {
        throw new RowFailure('FIELD_CUSTOM_VALIDATION_EXCEPTION', rule.message, [rule.field]);
      }
    }
  }

  /** Throws RowFailure DUPLICATES_DETECTED. */
  checkDuplicates(store: RecordStore, record: StoredRecord, allowSave: boolean): void {
    for (const rule of this.duplicates) {
      if (rule.object !== record.type || (rule.action === 'alert' && allowSave)) {
        continue;
      }
      const others = store.live(record.type).filter(({ id }) => id !== record.id);
      if (others.some((other) => rule.fields.every((field) => isSame(other.fields[field], record.fields[field])))) {
        throw new RowFailure('DUPLICATES_DETECTED', 'Use one of these records?');
      }
    }
  }
}

/** Decides whether two values are equal. An empty field equals no value. */
function isSame(one: FieldValue | undefined, other: FieldValue | undefined): boolean {
  const text = String(one ?? '').toLowerCase();
  return text !== '' && text === String(other ?? '').toLowerCase();
}
