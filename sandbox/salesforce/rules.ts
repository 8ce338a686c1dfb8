import { RowFailure } from './errors.ts';
import type { FieldValue } from './fields.ts';
import type { RecordStore, StoredRecord } from './store.ts';

/** A validation rule of the org: a row whose field matches the pattern is refused with the administrator's words. */
export interface ValidationRule {
  object: string;
  field: string;
  /** Source of a regular expression; an empty field is the empty text. */
  refuses: string;
  message: string;
}

/** A duplicate rule of the org: another live record with the same values in all these fields is a duplicate. */
export interface DuplicateRule {
  object: string;
  fields: string[];
  /** `alert` lets a row pass that comes with allowSave; `block` never does. */
  action: 'alert' | 'block';
}

/**
 * On in a new org, and alerting: saves through the API are blocked all the same, unless they come with allowSave. Of the standard matching
 * rule for contacts one line is played, without its fuzziness
 * (https://help.salesforce.com/s/articleView?id=sf.duplicate_rules_standard_contact_rule.htm).
 */
const STANDARD_RULES: readonly DuplicateRule[] = [
  { object: 'Contact', fields: ['FirstName', 'LastName', 'Email'], action: 'alert' },
];

/** What the org's administrator has set up. */
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

/** Empty fields are never the same. */
function isSame(one: FieldValue | undefined, other: FieldValue | undefined): boolean {
  const text = String(one ?? '').toLowerCase();
  return text !== '' && text === String(other ?? '').toLowerCase();
}
