import type { Counts } from '../kit/counts.ts';
import type { FaultPlan } from '../kit/faults.ts';
import { ORG_ID } from './ids.ts';
import { RowLocks } from './locks.ts';
import type { Settings } from './options.ts';
import { OrgRules } from './rules.ts';
import { Schema } from './schema.ts';
import { RecordStore, type StoredRecord } from './store.ts';

/** Record types of accounts if the Person Accounts feature is on. */
const RECORD_TYPES = [
  { Name: 'Business Account', DeveloperName: 'Business_Account', IsPersonType: false },
  { Name: 'Person Account', DeveloperName: 'PersonAccount', IsPersonType: true },
];

/** One org: its objects, records, rules and users. */
export class World {
  readonly settings: Settings;
  readonly counts: Counts;
  readonly faults: FaultPlan;
  readonly schema: Schema;
  readonly store: RecordStore;
  readonly locks = new RowLocks();
  readonly rules: OrgRules;
  #deletion = 0;

  constructor(settings: Settings, counts: Counts, faults: FaultPlan) {
    this.settings = settings;
    this.counts = counts;
    this.faults = faults;
    this.rules = new OrgRules(settings.standardDuplicateRules);
    this.schema = new Schema(settings.customFields, settings.personAccounts);
    const keyFields = new Map(
      this.schema.objects.map(({ name, fields }) => [
        name,
        [...fields.values()].filter((field) => field.externalId || field.unique),
      ]),
    );
    this.store = new RecordStore((type) => keyFields.get(type) ?? []);
    const at = this.now();
    const org = { Name: 'Sandbox', IsSandbox: true };
    this.store.put({ id: ORG_ID, type: 'Organization', fields: org, createdAt: at, modifiedAt: at });
    if (settings.personAccounts) {
      for (const recordType of RECORD_TYPES) {
        this.#add('RecordType', { ...recordType, SobjectType: 'Account', IsActive: true });
      }
    }
  }

  now(): number {
    return this.settings.now();
  }

  /** Returns a new number for records that are deleted together. */
  nextDeletion(): number {
    this.#deletion += 1;
    return this.#deletion;
  }

  /** Returns the user with this user name; creates the user if the name is new. */
  user(username: string): StoredRecord {
    const known = this.store.live('User').find(({ fields }) => fields.Username === username);
    return known ?? this.#add('User', { Username: username, Name: username, Email: username, IsActive: true });
  }

  get usernames(): string[] {
    return this.store.live('User').map(({ fields }) => String(fields.Username));
  }

  #add(type: string, fields: StoredRecord['fields']): StoredRecord {
    const at = this.now();
    const record = { id: this.store.newId(this.schema.object(type)), type, fields, createdAt: at, modifiedAt: at };
    this.store.put(record);
    return record;
  }
}
