import { onTestFinished } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import { type DialectName, type RestCrmSandbox, startRestCrmSandbox } from '../../../sandbox/rest-crm/index.ts';
import type { Authorizer } from '../../../src/connectors/connector.ts';
import type { MappedProperty, PropertyValue } from '../../../src/core/model/items.ts';
import { contact, type OpenTarget, openTarget, steadyLogin, type TargetChoice } from './harness.ts';

/** How one shipped profile is tried. */
export interface ProfileCase {
  dialect: DialectName;
  profile: string;
  /** Kind of the contacts in the sandbox. */
  kind: string;
  properties: readonly MappedProperty[];
  /** Values of one person, every kind of property among them. */
  person: Record<string, PropertyValue>;
  /** Names of the properties for the given name, the e-mail address and the key. */
  given: string;
  email: string;
  key: string;
  /** Writes of 100 contacts that are not there yet, by the documented cost. */
  requestsForHundred: number;
  login(token: string): Authorizer;
}

/** The four profiles, with the properties of a mapping. */
export const PROFILE_CASES: readonly ProfileCase[] = [
  {
    dialect: 'espocrm',
    profile: 'espocrm',
    kind: 'Contact',
    properties: kinds(
      'firstName lastName emailAddress phoneNumber',
      'cVisits',
      'doNotCall',
      'cBirthDate',
      'cLastVisit',
    ),
    person: person(
      'firstName',
      'lastName',
      'emailAddress',
      'phoneNumber',
      'cVisits',
      'doNotCall',
      'cBirthDate',
      'cLastVisit',
    ),
    given: 'firstName',
    email: 'emailAddress',
    key: 'cMirrorKey',
    // Two lookups of fifty keys, then single requests.
    requestsForHundred: 102,
    login: (token) => steadyLogin(token, 'x-api-key'),
  },
  {
    dialect: 'dolibarr',
    profile: 'dolibarr',
    kind: 'contacts',
    properties: kinds(
      'firstname lastname email phone_mobile',
      'array_options.options_visits',
      'array_options.options_newsletter',
      'birthday',
      'array_options.options_last_visit',
    ),
    person: person(
      'firstname',
      'lastname',
      'email',
      'phone_mobile',
      'array_options.options_visits',
      'array_options.options_newsletter',
      'birthday',
      'array_options.options_last_visit',
    ),
    given: 'firstname',
    email: 'email',
    key: 'options_clinic_mirror_key',
    requestsForHundred: 200,
    login: (token) => steadyLogin(token, 'dolapikey'),
  },
  {
    dialect: 'twenty',
    profile: 'twenty',
    kind: 'people',
    properties: kinds(
      'name.firstName name.lastName emails.primaryEmail phones.primaryPhoneNumber',
      'visits',
      'newsletter',
      'bornOn',
      'lastVisitAt',
    ),
    person: person(
      'name.firstName',
      'name.lastName',
      'emails.primaryEmail',
      'phones.primaryPhoneNumber',
      'visits',
      'newsletter',
      'bornOn',
      'lastVisitAt',
    ),
    given: 'name.firstName',
    email: 'emails.primaryEmail',
    key: 'clinicMirrorKey',
    requestsForHundred: 104,
    login: (token) => steadyLogin(`Bearer ${token}`),
  },
  {
    dialect: 'zoho',
    profile: 'zoho-like',
    kind: 'Contacts',
    properties: kinds('First_Name Last_Name Email Phone', 'Visits', 'Newsletter', 'Date_of_Birth', 'Last_Visit'),
    person: person('First_Name', 'Last_Name', 'Email', 'Phone', 'Visits', 'Newsletter', 'Date_of_Birth', 'Last_Visit'),
    given: 'First_Name',
    email: 'Email',
    key: 'Clinic_Mirror_Key',
    requestsForHundred: 1,
    login: (token) => steadyLogin(`Bearer ${token}`),
  },
];

/** A fresh sandbox with a target in it, both gone when the test ends. */
export async function openProfile(
  { dialect, profile, properties, login }: ProfileCase,
  choice: Partial<TargetChoice> & { description?: object } = {},
): Promise<{ sandbox: RestCrmSandbox; target: OpenTarget; open(more: Partial<TargetChoice>): OpenTarget }> {
  const sandbox = await startRestCrmSandbox({ dialect });
  onTestFinished(() => sandbox.close());
  const settings = { baseUrl: sandbox.apiUrl, profile, description: choice.description ?? {} };
  const open = (more: Partial<TargetChoice>) =>
    openTarget({ settings, properties, authorizer: login(sandbox.token), ...choice, ...more });
  return { sandbox, target: open({}), open };
}

function kinds(texts: string, number: string, boolean: string, date: string, instant: string): MappedProperty[] {
  return [
    ...texts.split(' ').map((name): MappedProperty => ({ name, kind: 'text' })),
    { name: number, kind: 'number' },
    { name: boolean, kind: 'boolean' },
    { name: date, kind: 'date' },
    { name: instant, kind: 'instant' },
  ];
}

function person(...names: string[]): Record<string, PropertyValue> {
  const values = [
    'Anna',
    'Rossi',
    'rossi@family.example',
    '+390612345678',
    3,
    true,
    '1960-02-29',
    '2027-03-01T09:30:00.000Z',
  ];
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? null]));
}

/** The case of EspoCRM's dialect. */
export const espocrm = PROFILE_CASES.find(({ dialect }) => dialect === 'espocrm')!;

interface Proxied {
  sandbox: RestCrmSandbox;
  proxy: FaultProxy;
  target: OpenTarget;
  open(more: { authorizer?: Authorizer; description?: object; timeoutMs?: number }): OpenTarget;
}

/** EspoCRM's dialect behind a proxy that spoils its traffic. */
export async function openProxied(): Promise<Proxied> {
  const { sandbox } = await openProfile(espocrm);
  const proxy = await startFaultProxy(sandbox.url);
  onTestFinished(() => proxy.close());
  const baseUrl = sandbox.apiUrl.replace(sandbox.url, proxy.url);
  const open: Proxied['open'] = ({ description = {}, authorizer = espocrm.login(sandbox.token), ...more }) =>
    openTarget({
      settings: { baseUrl, profile: 'espocrm', description },
      properties: espocrm.properties,
      authorizer,
      ...more,
    });
  return { sandbox, proxy, open, target: open({}) };
}

/** A contact of its account. */
export const anna = contact(espocrm.person);
