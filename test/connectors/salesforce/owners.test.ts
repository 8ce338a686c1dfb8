import { describe, expect, test } from 'vitest';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import type { CrmItem, StreamName } from '../../../src/core/model/items.ts';
import type { Operation } from '../../../src/core/model/operations.ts';
import { compileMapping } from '../../../src/domain/mapping/compile.ts';
import type { MappingSource } from '../../../src/domain/mapping/contract.ts';
import { ofAppointment, ofInvoice, ofPatient } from '../../domain/mapping/sources.ts';
import { crmBesideContacts, crmOf } from '../../settings/crm-file.ts';
import { containerOf } from '../../support/container-of.ts';
import {
  apply,
  create,
  failureOf,
  inWords,
  keyOf,
  openWorld,
  patient,
  readAll,
  remove,
  signal,
  update,
} from './support.ts';

const DOCTOR = 'bianchi@clinic.example';
const DESK = 'desk@clinic.example';
const LOGIN = 'integration@clinic.example';

/** Opens an org with a doctor and a front desk, one contact, and a target whose mapping sets the owner of written records. */
async function openOrg(stream: Exclude<StreamName, 'patients'>, owner: string, beside: string) {
  const { sandbox, open, ...world } = await openWorld();
  for (const user of [DOCTOR, DESK]) sandbox.issueAccessToken(user);
  const ids = new Map(sandbox.records('User').map(({ Id, Username }) => [String(Username), Id]));
  const lines = `mapping:\n${beside}\n  OwnerId: ${owner}`;
  const written = lines.replaceAll(/\{\{(.+?)\}\}/g, (_, user: string) => ids.get(user) ?? user);
  const mapping = compileMapping(crmBesideContacts(stream, written), 'Europe/Rome');
  await apply(open('patients'), create('anna', patient()));
  const target = open(stream, { properties: mapping.properties });
  await containerOf(target, null, signal());
  const itemOf = (source: MappingSource): CrmItem => ({
    properties: mapping.map(source).properties,
    contactKey: keyOf('anna'),
    startAt: 0,
  });
  const object = stream === 'appointments' ? 'Event' : 'Opportunity';
  const names = new Map([...ids].map(([name, id]) => [id, name]));
  const owners = () => sandbox.records(object).map(({ OwnerId }) => names.get(String(OwnerId)));
  return { ...world, sandbox, target, itemOf, owners };
}

const TIMES = '  Subject: { value: Visit }\n  StartDateTime: startAt\n  EndDateTime: endAt';
const BY_LOCATION = `{ from: location, values: { Centro: "{{${DESK}}}", Mare: "{{${DOCTOR}}}" } }`;

/** Returns a visit at a location. */
function visitIn(location: string | null): MappingSource {
  return { ...ofAppointment(), location } as MappingSource;
}

describe('the owner of a visit', () => {
  test('is the user of its location, and another when it moves', async () => {
    const { target, itemOf, owners } = await openOrg('appointments', BY_LOCATION, TIMES);
    expect(inWords(await apply(target, create('v', itemOf(visitIn('Centro')))))).toEqual(['v created']);
    expect(owners()).toEqual([DESK]);
    expect((await readAll(target)).map(({ item }) => item?.properties)).toEqual([itemOf(visitIn('Centro')).properties]);
    await apply(target, update('v', itemOf(visitIn('Mare'))));
    expect(owners()).toEqual([DOCTOR]);
  });

  test.each([['Porto'], [null]])(
    'that no line of the mapping names is reported by the field (%s)',
    async (location) => {
      const { target, itemOf, owners } = await openOrg('appointments', BY_LOCATION, TIMES);
      const outcomes = await apply(
        target,
        create('v', itemOf(visitIn(location))),
        create('w', itemOf(visitIn('Mare'))),
      );
      const error: MirrorError = failureOf(outcomes);
      expect(error).toMatchObject({ code: 'required-field-missing', actor: 'settings', about: 'OwnerId' });
      expect(owners()).toEqual([DOCTOR]);
    },
  );

  test('is the doctor by the agenda, if configured', async () => {
    const rule = `{ from: agenda, values: { Dr. Bianchi: "{{${DOCTOR}}}" } }\nsensitive: { agenda: decided }`;
    const { target, itemOf, owners } = await openOrg('appointments', rule, TIMES);
    await apply(target, create('v', itemOf(ofAppointment())));
    expect(owners()).toEqual([DOCTOR]);
  });

  test('remains when the visit is emptied before its permanent deletion', async () => {
    const { sandbox, target, itemOf } = await openOrg('appointments', BY_LOCATION, TIMES);
    await apply(target, create('v', itemOf(visitIn('Mare'))));
    const owner = sandbox.records('Event')[0]?.OwnerId;
    const erasure = { ...remove('v'), erase: true } as Operation<CrmItem>;
    expect(inWords(await apply(target, erasure))).toEqual(['v deleted']);
    expect(sandbox.records('Event', { includeDeleted: true })).toMatchObject([{ Subject: null, OwnerId: owner }]);
  });

  test('is the user of the connection if the mapping names none', async () => {
    const { sandbox, open } = await openWorld();
    sandbox.issueAccessToken(DOCTOR);
    const visits = open('appointments');
    await apply(open('patients'), create('anna', patient()));
    await apply(visits, create('v', { ...patient(), properties: VISIT, contactKey: keyOf('anna') }));
    const login = sandbox.records('User').find(({ Username }) => Username === LOGIN);
    expect(sandbox.records('Event').map(({ OwnerId }) => OwnerId)).toEqual([login?.Id]);
  });

  test('that is no user is refused by the field', async () => {
    const { sandbox, target, itemOf, owners } = await openOrg('appointments', BY_LOCATION, TIMES);
    const [contact] = sandbox.records('Contact');
    const item = itemOf(visitIn('Centro'));
    const wrong = { ...item, properties: { ...item.properties, OwnerId: contact!.Id } };
    expect(failureOf(await apply(target, create('v', wrong)))).toMatchObject({
      ...{ code: 'property-value-refused', actor: 'settings', about: 'OwnerId' },
    });
    expect(owners()).toEqual([]);
  });
});

const VISIT = {
  Subject: 'Visit',
  StartDateTime: '2027-03-10T08:00:00.000Z',
  EndDateTime: '2027-03-10T08:30:00.000Z',
};

test('the owner of an invoice is its doctor, if it has one', async () => {
  const beside = '  Name: number\n  StageName: { value: Closed Won }\n  CloseDate: date';
  const rule = `{ from: doctors, values: { Anna Bianchi: "{{${DOCTOR}}}" } }\nsensitive: { doctors: decided }`;
  const { target, itemOf, owners } = await openOrg('invoices', rule, beside);
  await apply(target, create('i', itemOf(ofInvoice({ doctors: ['Anna Bianchi'] }))));
  expect(owners()).toEqual([DOCTOR]);
});

test('the owner of contacts is one user for all, and sees those without an account', async () => {
  const { sandbox, open } = await openWorld();
  sandbox.issueAccessToken(DESK);
  const desk = sandbox.records('User').find(({ Username }) => Username === DESK)!.Id;
  const { properties, map } = compileMapping(
    crmOf(`mapping: { LastName: lastName, OwnerId: { value: ${desk} } }`),
    'Europe/Rome',
  );
  const target = open('patients', { properties });
  await containerOf(target, null, signal());
  await apply(target, create('anna', { ...patient(), properties: map(ofPatient()).properties }));
  const seenBy = (as: string) => sandbox.records('Contact', { as }).length;
  expect([seenBy(DESK), seenBy(LOGIN)]).toEqual([1, 0]);
});
