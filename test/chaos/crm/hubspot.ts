import { type HubSpotSandbox, type ObjectTypeName, startHubSpotSandbox } from '../../../sandbox/hubspot/index.ts';
import type { FaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import type { Found } from './judge.ts';
import { type CrmSide, contactsOf, instantOf, SHARED_TARGET, textOf } from './side.ts';

const KEY = 'clinic_mirror_key';
const OBJECTS = ['contacts', 'meetings'] as const;
const CONTACT_MAPPING = {
  firstname: 'firstName',
  lastname: 'lastName',
  email: 'email',
  phone: 'phone',
  clinic_marketing: 'consents.marketing',
  clinic_next_on: 'derived.nextAppointmentOn',
};
const ACTIVITY_MAPPING = {
  hs_meeting_title: { value: 'Appointment' },
  hs_meeting_start_time: 'startAt',
  hs_meeting_end_time: 'endAt',
  clinic_status: 'status',
};

/** HubSpot with a private app's token: contacts, and activities joined to them. */
export async function startHubSpotSide(
  openGate: (server: string) => Promise<FaultProxy>,
  tenant: string,
): Promise<CrmSide> {
  const sandbox = await startHubSpotSandbox({ tenSecondlyPrivate: Number.POSITIVE_INFINITY });
  addProperties(sandbox);
  const proxy = await openGate(sandbox.apiUrl);
  const ids = new Set<string>();
  const before = new Map<string, string>();
  const target = {
    connector: 'hubspot',
    connection: 'hubspot',
    ...SHARED_TARGET,
    settings: { apiUrl: proxy.url, searchLagSeconds: 5 },
  };
  const variable = `TENANT_${tenant.toUpperCase().replaceAll('-', '_')}__HUBSPOT_TOKEN`;
  return {
    vendor: 'hubspot',
    oneOwner: true,
    connections: { hubspot: { kind: 'bearer', token: { env: variable } } },
    targets: {
      contacts: { ...target, crm: contactsOf(CONTACT_MAPPING) },
      visits: { ...target, crm: { stream: 'appointments', contacts: 'contacts', mapping: ACTIVITY_MAPPING } },
    },
    settings: {},
    env: { [variable]: sandbox.issuePrivateToken() },
    proxy,
    addStrangers(twins) {
      for (const { firstName, lastName, email, phone } of twins) {
        const person = { firstname: firstName, lastname: lastName, email: email ?? '', phone: phone ?? '' };
        ids.add(`contacts ${sandbox.add('contacts', person)}`);
      }
      ids.add(
        `meetings ${sandbox.add('meetings', { hs_timestamp: new Date().toISOString(), hs_meeting_title: 'Call' })}`,
      );
      for (const [id, bytes] of strangersNow(sandbox, ids)) before.set(id, bytes);
    },
    strangersAddresses: () =>
      new Set(
        sandbox
          .records('contacts')
          .filter(({ id }) => ids.has(`contacts ${id}`))
          .flatMap(({ properties }) => properties.email ?? []),
      ),
    holdings: () => ({
      contacts: foundIn(sandbox, 'contacts'),
      activities: foundIn(sandbox, 'meetings'),
      strangers: { before, now: strangersNow(sandbox, ids) },
    }),
    async close() {
      await proxy.close();
      await sandbox.close();
    },
  };
}

function addProperties(sandbox: HubSpotSandbox): void {
  const option = (value: string, displayOrder: number) => ({ label: value, value, displayOrder, hidden: false });
  const truth = { type: 'bool', fieldType: 'booleancheckbox', options: [option('true', 0), option('false', 1)] };
  sandbox.createProperty('contacts', { name: 'clinic_marketing', label: 'Marketing', ...truth });
  sandbox.createProperty('contacts', { name: 'clinic_next_on', label: 'Next', type: 'date', fieldType: 'date' });
  sandbox.createProperty('meetings', { name: 'clinic_status', label: 'Status', type: 'string', fieldType: 'text' });
}

/** Ids carry the kind of record before them: HubSpot counts each kind for itself. */
function foundIn(sandbox: HubSpotSandbox, object: (typeof OBJECTS)[number]): Found[] {
  return sandbox.records(object).map(({ id, properties: given }) => ({
    id: `${object} ${id}`,
    isOurs: textOf(given[KEY]) !== null,
    values:
      object === 'contacts'
        ? {
            firstName: textOf(given.firstname),
            lastName: textOf(given.lastname),
            email: textOf(given.email),
            phone: textOf(given.phone),
            marketing: textOf(given.clinic_marketing),
            nextOn: textOf(given.clinic_next_on),
          }
        : {
            startAt: instantOf(given.hs_meeting_start_time),
            endAt: instantOf(given.hs_meeting_end_time),
            status: textOf(given.clinic_status),
          },
    contactIds:
      object === 'contacts' ? [] : sandbox.associated(object, id, 'contacts').map((each) => `contacts ${each}`),
  }));
}

/** Returns each stranger's record with its associated records. */
function strangersNow(sandbox: HubSpotSandbox, ids: ReadonlySet<string>): Map<string, string> {
  const other: Readonly<Record<string, ObjectTypeName>> = { contacts: 'meetings', meetings: 'contacts' };
  const wanted = OBJECTS.flatMap((object) =>
    sandbox.records(object).map((record) => ({ object, record, name: `${object} ${record.id}` })),
  ).filter(({ name }) => ids.has(name));
  return new Map(
    wanted.map(({ object, record, name }) => {
      const joined = sandbox.associated(object, record.id, other[object] ?? 'contacts');
      return [name, JSON.stringify([record, joined])];
    }),
  );
}
