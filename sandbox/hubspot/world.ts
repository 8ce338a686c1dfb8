import type { Counts } from '../kit/counts.ts';
import { Associations } from './associations.ts';
import { OBJECT_TYPES, type ObjectTypeName } from './object-types.ts';
import type { Settings } from './options.ts';
import { Pipelines } from './pipelines.ts';
import { Preferences } from './preferences.ts';
import { PropertyCatalogue } from './properties.ts';
import { RecordStore } from './record-store.ts';
import { SearchIndex } from './search-index.ts';

/** A required property: on every creation, or if another property has a certain value. */
type Rule = { object: ObjectTypeName; property: string } & ({ when: 'created' } | { when: string; is: string });

/** First id, in the form of HubSpot's contact ids; ids only increase. */
const FIRST_ID = 171_591_000_100;

/** State of the sandbox's only account. */
export class World {
  readonly settings: Settings;
  readonly counts: Counts;
  readonly properties = new PropertyCatalogue();
  readonly associations = new Associations();
  readonly preferences = new Preferences();
  readonly pipelines = new Pipelines();
  readonly rules: Rule[] = [];
  /** E-mail addresses blocked by a GDPR delete, in lower case. */
  readonly blockedEmails = new Set<string>();
  readonly #stores = new Map<ObjectTypeName, RecordStore>();
  readonly #indexes = new Map<ObjectTypeName, SearchIndex>();
  #lastId = FIRST_ID;

  constructor(settings: Settings, counts: Counts) {
    this.settings = settings;
    this.counts = counts;
    for (const { name } of OBJECT_TYPES) {
      const index = new SearchIndex();
      const store = new RecordStore({
        uniqueProperties: () => this.uniqueProperties(name),
        onWrite: (id, record) => index.note(id, record, this.now()),
      });
      this.#stores.set(name, store);
      this.#indexes.set(name, index);
    }
  }

  now(): number {
    return this.settings.now();
  }

  /** Returns the names of the properties that identify a record. Each value belongs to at most one record. */
  uniqueProperties(object: ObjectTypeName): string[] {
    if (object === 'meetings' && this.settings.meetingKeys !== 'unique') {
      return [];
    }
    return this.properties.unique(object).map(({ name }) => name);
  }

  newId(): string {
    this.#lastId += 1;
    return String(this.#lastId);
  }

  records(object: ObjectTypeName): RecordStore {
    return known(this.#stores.get(object), object);
  }

  /** Returns the records of an object type as search sees them now, after the search lag. */
  searchable(object: ObjectTypeName): ReturnType<SearchIndex['records']> {
    return known(this.#indexes.get(object), object).records(this.now() - this.settings.searchLagMs);
  }
}

function known<T>(found: T | undefined, object: string): T {
  if (found === undefined) {
    throw new Error(`The sandbox has no object type ${object}`);
  }
  return found;
}
