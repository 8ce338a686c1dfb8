import { expect } from 'vitest';
import type { CrmItem, PropertyValue, StreamName } from '../../src/core/model/items.ts';
import type { Operation, Outcome, RemoteItem } from '../../src/core/model/operations.ts';
import { crmForm } from '../../src/domain/item-forms.ts';
import { createTargetIdentity } from '../../src/engine/identity.ts';
import { type ContractKit, createKitOf, describeOutcome, keyOf, written } from './contract-kit.ts';
import { CRM_ROLES, type CrmRole, type CrmTarget, type CrmValues, type RemoteRow } from './crm-target.ts';

/** What a case of CRMs works with. */
export interface CrmKit extends ContractKit<CrmItem, RemoteRow> {
  target: CrmTarget;
  /** An ordinary item with these values instead of the defaults, and belonging to another contact if one is given. */
  row(values: Partial<CrmValues>, belonging?: Partial<CrmTarget['belonging']>): CrmItem;
  /** Whether the read item equals an item, including the fingerprint. */
  isAs(read: RemoteItem<CrmItem>, item: CrmItem): boolean;
  /** A kit on another stream of the same account. */
  beside(stream: StreamName): Promise<CrmKit>;
  /**
   * Expects a write after which an audit finds no difference: the item read back equals the stored item that the outcome reports, or the
   * sent item if the outcome reports none, including the fingerprint. Returns the object as a user sees it.
   */
  expectKept(operation: Extract<Operation<CrmItem>, { item: CrmItem }>, outcome?: Outcome<CrmItem>): Promise<RemoteRow>;
}

/** Values of an ordinary item: one for each kind of property. */
const ORDINARY: CrmValues = {
  title: 'Appointment',
  email: null,
  phone: null,
  note: null,
  number: 7,
  boolean: true,
  date: '2027-03-10',
  instant: '2027-03-10T08:00:00.000Z',
};

const TELLING = {
  title: 'TitleCanary',
  email: 'mailcanary@clinic.example',
  phone: '+390551239876',
  note: 'NoteCanary',
} as const;

/** Prepares a case on a fresh CRM. */
export function createCrmKit(target: CrmTarget): CrmKit {
  const row: CrmKit['row'] = (values, belonging = {}) => ({
    properties: toProperties(target, { ...ORDINARY, ...values }),
    ...target.belonging,
    ...belonging,
  });
  const kit = createKitOf<CrmItem, RemoteRow>(target, {
    item: (title = ORDINARY.title as string) => row({ title }),
    telling: () => ({
      item: row(TELLING),
      changed: row({ ...TELLING, number: 8 }),
      texts: Object.values(TELLING),
    }),
  });
  return {
    ...kit,
    target,
    row,
    isAs: (read, item) => read.item !== null && fingerprintOf(target, read.item) === fingerprintOf(target, item),
    beside: async (stream) => createCrmKit(await target.beside(stream)),
    async expectKept(operation, outcome) {
      const { stored = operation.item } = written(outcome ?? (await kit.attempt([operation]))[0]);
      const read = (await kit.readAll()).find(({ key }) => key === operation.key);
      expect(read?.item).toEqual(stored);
      expect(fingerprintOf(target, read!.item!)).toBe(fingerprintOf(target, stored));
      return await kit.object(operation.recordId);
    },
  };
}

function toProperties({ names, constants }: CrmTarget, values: CrmValues): Record<string, PropertyValue> {
  const roles = Object.keys(CRM_ROLES) as CrmRole[];
  return {
    ...Object.fromEntries(constants.map(({ name, value }) => [name, value])),
    ...Object.fromEntries(roles.map((role) => [names[role], values[role]])),
  };
}

/** As the daemon would compare it. */
function fingerprintOf({ stream }: CrmTarget, item: CrmItem): string {
  const form = crmForm(stream, Object.keys(item.properties));
  return createTargetIdentity(new Uint8Array(32), 'clinic', 'target', form).fingerprint(item);
}

/** Creates a contact with this title on the patients' kit; gives its key and remote id. */
export async function createContact(patients: CrmKit, recordId: string): Promise<{ key: string; remoteId: string }> {
  const [outcome] = await patients.attempt([patients.toCreate(recordId, patients.item(recordId))]);
  expect(describeOutcome(outcome)).toBe('written created');
  return { key: keyOf(recordId), remoteId: (await patients.object(recordId)).remoteId };
}
