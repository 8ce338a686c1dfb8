import { editTenantFile } from '../../../demo/configuration.ts';
import type { ClinicSandboxOptions } from '../../../sandbox/clinic/index.ts';
import type { StreamName } from '../../../src/core/model/items.ts';
import { logInTo } from '../../support/log-in.ts';
import { startHubSpot } from './crm-hubspot.ts';
import { startRestCrm } from './crm-rest.ts';
import { startSalesforce } from './crm-salesforce.ts';
import { type CrmPurpose, type CrmVendor, VENDORS, type VendorName } from './crm-vendors.ts';
import type { SmallWorldOptions } from './small-configuration.ts';
import { type SmallWorld, startSmallWorld } from './small-world.ts';

/** Targets of each CRM, by stream. */
const TARGETS = { patients: 'contacts', appointments: 'visits', invoices: 'deals' } as const;

/** What a world with CRMs is made of. Every tenant writes into the same account of each CRM. */
export interface CrmWorldOptions {
  redisUrl: string;
  vendors?: readonly VendorName[];
  /** Additional calendars of each tenant; default: none. */
  calendars?: SmallWorldOptions['targets'];
  /** Default: only patients. */
  streams?: readonly StreamName[];
  tenants?: number;
  patients?: number;
  appointments?: number;
  clinic?: ClinicSandboxOptions;
  /** Merged into the part `crm` of every target of a stream, after the mapping by shared names was put in the CRM's own. */
  crm?: Partial<Record<StreamName, object>>;
  /** Where the value of each shared name comes from; default: {@link SOURCES}. */
  sources?: Partial<Record<StreamName, Readonly<Record<string, string>>>>;
  /** Merged into every target. */
  target?: object;
  /** Merged into the settings. */
  settings?: object;
}

/** Fields of the clinic's records behind the shared names; only the doctors of a deal are sensitive. */
const SOURCES = {
  patients: {
    firstName: 'firstName',
    lastName: 'lastName',
    email: 'email',
    phone: 'phone',
    newsletter: 'consents.marketing',
    visits: 'derived.visits',
    nextOn: 'derived.nextAppointmentOn',
    standing: 'derived.standing',
  },
  appointments: { startAt: 'startAt', endAt: 'endAt', status: 'status' },
  invoices: { name: 'number', date: 'date', amount: 'total', doctors: 'doctors' },
} as const satisfies Record<StreamName, Readonly<Record<string, string>>>;

/** A clinic, CRMs, and the product between them. */
export interface CrmWorld extends Omit<SmallWorld, 'targets' | 'logIn' | 'compareAll'> {
  vendors: readonly CrmVendor[];
  /** Logs in to the clinic and to every CRM, of every tenant. */
  logIn(): Promise<void>;
  /** Changes a tenant's file, for what is opened afterwards. */
  editTenant(id: string, edit: (file: TenantContent) => void): Promise<void>;
  /** Requests to a CRM since the last call, by purpose. */
  spent(vendor: CrmVendor): Record<CrmPurpose, number>;
}

/** A tenant's file as far as tests change it. */
export interface TenantContent {
  connections: Record<string, object>;
  targets: Record<string, { crm: Record<string, unknown>; [key: string]: unknown }>;
}

const STARTERS: Readonly<Record<VendorName, () => Promise<CrmVendor>>> = {
  hubspot: startHubSpot,
  salesforce: startSalesforce,
  'rest-crm': startRestCrm,
};

/** Starts a world with CRMs, without any sign-in yet. */
export async function startCrmWorld(options: CrmWorldOptions): Promise<CrmWorld> {
  const vendors = await Promise.all((options.vendors ?? VENDORS).map((name) => STARTERS[name]()));
  const { patients = 20, appointments = 40, tenants = 1 } = options;
  const world = await startSmallWorld({
    redisUrl: options.redisUrl,
    targets: options.calendars ?? [],
    clinic: {
      tenants: Array.from({ length: tenants }, () => ({ patients, appointments })),
      agendas: 4,
      pastDays: 30,
      ...options.clinic,
    },
    settings: { ...Object.assign({}, ...vendors.map(({ settings }) => settings)), ...options.settings },
  });
  const edit = (id: string, change: (file: TenantContent) => void) => editTenantFile(world.configDir, id, change);
  for (const { id } of world.tenants) {
    for (const vendor of vendors) Object.assign(world.env, vendor.secrets(id));
    await edit(id, (file) => {
      for (const vendor of vendors) addVendor(file, id, vendor, options);
    });
  }
  const seen = new Map<CrmVendor, number>();
  return {
    ...world,
    vendors,
    editTenant: edit,
    logIn: () => logIn(world, vendors),
    spent(vendor) {
      const requests = vendor.recorded();
      const fresh = requests.slice(seen.get(vendor) ?? 0);
      seen.set(vendor, requests.length);
      const spent = { login: 0, prepare: 0, read: 0, write: 0 };
      for (const request of fresh) spent[vendor.purposeOf(request)] += 1;
      return spent;
    },
    async close() {
      await world.close();
      await Promise.all(vendors.map((vendor) => vendor.close()));
    },
  };
}

function addVendor(file: TenantContent, tenant: string, vendor: CrmVendor, options: CrmWorldOptions): void {
  file.connections[vendor.name] = vendor.connection(tenant);
  for (const stream of options.streams ?? ['patients']) {
    const isContacts = stream === 'patients';
    file.targets[`${vendor.name}-${TARGETS[stream]}`] = {
      connector: vendor.connector,
      connection: vendor.name,
      window: { pastDays: 60, futureDays: 200 },
      ...options.target,
      settings: vendor.targetSettings,
      crm: {
        stream,
        ...(isContacts ? { consents: ['privacy'] } : { contacts: `${vendor.name}-contacts` }),
        ...(stream === 'invoices' ? { sensitive: { doctors: 'the practice manager, for commissions' } } : {}),
        mapping: mappingOf(vendor, stream, { ...SOURCES[stream], ...options.sources?.[stream] }),
        ...options.crm?.[stream],
      },
    };
  }
}

function mappingOf(
  { names, constants }: CrmVendor,
  stream: StreamName,
  sources: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const mapping: Record<string, unknown> = { ...constants[stream] };
  for (const [shared, field] of Object.entries(sources)) mapping[names[stream][shared] ?? shared] = field;
  const title = names[stream].title;
  if (title !== undefined && !('title' in sources)) mapping[title] = { value: 'Appointment' };
  return mapping;
}

/** Signs in as the clinic's front desk, and as the administrator of each CRM. */
async function logIn(world: SmallWorld, vendors: readonly CrmVendor[]): Promise<void> {
  await world.logIn();
  for (const { id } of world.tenants) {
    for (const { name, authorize } of vendors) {
      if (authorize === null) continue;
      await logInTo(world.opened(), { tenant: id, connection: name }, async (url) => authorize(url));
    }
  }
}
