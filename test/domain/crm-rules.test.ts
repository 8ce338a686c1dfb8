import { describe, expect, test } from 'vitest';
import type { Link } from '../../src/core/model/operations.ts';
import { FactSearch } from '../../src/core/model/patient-facts.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { PlannedChange } from '../../src/core/model/plan.ts';
import {
  activityRule,
  agrees,
  type Contacts,
  contactRule,
  contactsAfter,
  contactsBefore,
  dealRule,
  refusalsOfContacts,
} from '../../src/domain/crm-rules.ts';
import type { Planning, TargetInput } from '../../src/domain/cycle-input.ts';
import type { Decision } from '../../src/engine/diff.ts';
import type { TargetPlan } from '../../src/engine/target-plan.ts';
import { patientOf } from '../tenant/world.ts';
import { appointmentOf } from './arbitraries.ts';
import { type CycleChoice, cycleInputOf, invoiceOf, quiet, type World } from './cycle-input.ts';

const VISIT = appointmentOf('1', { patientId: '1' });
const INVOICE = invoiceOf({ id: '1', patientId: '1', number: '1' });

type CrmPart = NonNullable<TargetInput['target']['configuration']['crm']>;

/** Two patients whose contacts, activities and deals are written, and then what a test chooses. */
function openWorld(choice: Partial<CycleChoice> = {}, crm: Partial<CrmPart> = {}) {
  const input = cycleInputOf(quiet(choice));
  const planning: Planning = { ...input, facts: new FactSearch() };
  const targetOf = (id: string): TargetInput => {
    const found = input.targets.find(({ target }) => target.id === id)!;
    if (id !== 'contacts') return found;
    const { configuration } = found.target;
    const changed = { ...configuration, crm: { ...configuration.crm!, ...crm } };
    return { ...found, target: { ...found.target, configuration: changed } };
  };
  const contacts: Contacts = { ...contactsBefore(input).get('contacts')!, target: targetOf('contacts').target };
  return { input, planning, contacts, targetOf };
}

type CrmWorld = ReturnType<typeof openWorld>;

const withPatients = (patients: World['patients']) => ({ now: { ...quiet().now, patients } });
const activityIn = ({ planning, contacts, targetOf }: CrmWorld, changes: Partial<Contacts> = {}) =>
  activityRule(targetOf('activities'), planning, { ...contacts, ...changes })(VISIT);

function contactIn({ planning, targetOf }: CrmWorld, patient = patientOf('1')) {
  const unusable: Record<string, number> = {};
  const refuse = atOnce(refusalsOfContacts(targetOf('contacts'), planning));
  return { decision: contactRule(targetOf('contacts'), planning, unusable, refuse)(patient), unusable };
}

const codeOf = (decision: Decision) =>
  'exclude' in decision ? decision.exclude : 'retain' in decision ? decision.retain : 'item';

describe('a contact', () => {
  test('is created for a patient with consent; an invalid telephone number is left empty, and counted', () => {
    const { decision, unusable } = contactIn(openWorld(), patientOf('1', { mobilePhone: 'none' }));
    expect(decision).toEqual({
      item: { properties: { firstname: 'Anna', phone: null }, contactKey: null, startAt: 0 },
    });
    expect(unusable).toEqual({ phone: 1 });
  });

  test('no-consent: is removed when a consent is withdrawn, or keeps its last content if the target keeps contacts', () => {
    const patient = patientOf('1', { consents: { marketing: false } });
    expect(contactIn(openWorld(), patient).decision).toEqual({ exclude: 'no-consent' });
    const kept = { retain: 'no-consent', stopsWriting: true };
    expect(contactIn(openWorld({}, { withdrawn: 'keep' }), patient).decision).toEqual(kept);
  });

  test('inactive: is removed with an inactive patient if the target requires it, unless it is pinned', () => {
    const patient = patientOf('1', { isActive: false });
    const codeIn = (world: CrmWorld, pinned: ReadonlySet<string>) => {
      const target = { ...world.targetOf('contacts'), pinned };
      return codeOf(contactRule(target, world.planning, {}, (_, properties) => properties)(patient));
    };
    const removing = openWorld({}, { inactive: 'remove' });
    expect(codeIn(removing, new Set())).toBe('inactive');
    expect(codeIn(removing, new Set(['1']))).toBe('item');
    expect(codeIn(openWorld({}, { inactive: 'keep' }), new Set())).toBe('item');
  });

  test('forgotten: is removed before any other rule is evaluated', () => {
    expect(contactIn(openWorld({ forgotten: ['1'] }), patientOf('1', { consents: {} })).decision).toEqual({
      exclude: 'forgotten',
    });
  });

  test('is unchanged until the history that its mapping requires is loaded: history-unread', () => {
    const { planning, targetOf } = openWorld();
    const contacts = targetOf('contacts');
    const crm = { ...contacts.target.crm!, patientHistory: { covers: () => false, of: () => null as never } };
    const unread = { ...contacts, target: { ...contacts.target, crm } };
    const rule = contactRule(unread, planning, {}, (_, properties) => properties);
    expect(rule(patientOf('1'))).toEqual({ retain: 'history-unread' });
  });

  test('requires every consent of the target, and none if the target names none', () => {
    const targetWith = (consents: string[]) => ({ configuration: { crm: { consents } } }) as never;
    const consents = { marketing: true, privacy: false };
    expect(agrees(targetWith(['marketing']), { consents })).toBe(true);
    expect(agrees(targetWith(['marketing', 'privacy']), { consents })).toBe(false);
    expect(agrees(targetWith(['profiling']), { consents })).toBe(false);
    expect(agrees(targetWith([]), { consents })).toBe(true);
  });
});

describe('an activity or a deal', () => {
  test('is joined to the contact of its patient', () => {
    const world = openWorld();
    const contactKey = world.contacts.target.identity.key('1', 0);
    expect(activityIn(world)).toMatchObject({ item: { contactKey, startAt: VISIT.time.startAt } });
    const deal = dealRule(world.targetOf('deals'), world.planning, world.contacts)(INVOICE);
    expect(deal).toMatchObject({ item: { contactKey, properties: { name: '1' } } });
  });

  test('is removed by exclusion rules, and is not created without a patient', () => {
    const { planning, contacts, targetOf } = openWorld({ forgotten: ['2'] });
    const activity = activityRule(targetOf('activities'), planning, contacts);
    expect(codeOf(activity({ ...VISIT, status: 'cancelled' }))).toBe('status');
    expect(codeOf(activity({ ...VISIT, patientId: null }))).toBe('blocked-time');
    expect(codeOf(activity({ ...VISIT, patientId: '2' }))).toBe('forgotten');
    expect(codeOf(dealRule(targetOf('deals'), planning, contacts)({ ...INVOICE, patientId: null }))).toBe('no-patient');
  });

  test('patient-unknown: is unchanged if contacts are no longer configured', () => {
    const { planning, targetOf } = openWorld();
    expect(activityRule(targetOf('activities'), planning, undefined)(VISIT)).toEqual({ retain: 'patient-unknown' });
  });

  test.each([
    ['open', 'contact-held'],
    ['rejected', 'contact-held'],
    ['approved', 'item'],
  ] as const)('stays and is not written while a hold of its contact is %s: %s', (state, code) => {
    const hold = { target: 'contacts', kind: 'vanished', state, recordIds: ['1'] } as const;
    const decision = activityIn(openWorld({ holds: [{ ...hold, recordIds: ['1'] }] }));
    expect(codeOf(decision)).toBe(code);
    if (code === 'contact-held') expect(decision).toMatchObject({ stopsWriting: true });
  });

  test('patient-left-out: is removed with the contact; if the contact keeps its last content, it is kept too', () => {
    const refused = withPatients([patientOf('1', { consents: {} }), patientOf('2')]);
    expect(codeOf(activityIn(openWorld(refused)))).toBe('patient-left-out');
    const kept = { retain: 'no-consent', stopsWriting: true };
    expect(activityIn(openWorld(refused, { withdrawn: 'keep' }))).toEqual(kept);
  });

  test('contact-unwritten: waits until its contact is written or planned', () => {
    const never = { retain: 'contact-unwritten', stopsWriting: true };
    expect(activityIn(openWorld({ written: ['not'] }))).toEqual(never);
    expect(codeOf(activityIn(openWorld({ written: ['waits'] })))).toBe('item');
  });

  test('is joined again to a contact that was or will be made again', () => {
    const world = openWorld();
    const links = new Map(world.contacts.state.links);
    links.set('1', { ...(links.get('1') as Link), recreations: 2 });
    expect(activityIn(world, { state: { ...world.contacts.state, links } })).toMatchObject({
      item: { contactRecreations: 2 },
    });
    const lost = { state: { links: new Map(), pending: new Map() }, coming: new Set(['1']) };
    expect(activityIn(world, lost)).toMatchObject({ item: { contactRecreations: 1 } });
  });
});

describe('a patient missing from the list', () => {
  const without = withPatients([patientOf('2')]);

  test('patient-vanished: is removed once an individual fetch confirms it, and is recorded as vanished', () => {
    const world = openWorld({ ...without, alone: ['vanished'] });
    expect(codeOf(activityIn(world))).toBe('patient-vanished');
    expect(world.contacts.gone).toContain('1');
  });

  test('patient-unknown: may be newer than the list while the contact exists', () => {
    expect(codeOf(activityIn(openWorld(without)))).toBe('patient-unknown');
  });

  test('is gone where a newer list is complete and the contact was removed, not while contacts rest', () => {
    const removed = { state: { links: new Map(), pending: new Map() } };
    expect(codeOf(activityIn(openWorld(without), removed))).toBe('patient-vanished');
    expect(codeOf(activityIn(openWorld(without), { ...removed, isOpen: false }))).toBe('patient-unknown');
  });

  test('was found by an individual fetch', () => {
    expect(codeOf(activityIn(openWorld({ ...without, alone: ['found'] })))).toBe('item');
  });
});

describe('contacts of a plan', () => {
  const changeOf = (recordId: string, want: 'present' | 'absent') => ({ recordId, wanted: { want } }) as PlannedChange;
  const planOf = (part: Partial<TargetPlan>) =>
    ({ permitted: [], abandoned: [], refused: [], held: {}, ...part }) as unknown as TargetPlan;

  test('include waiting and permitted changes, and no abandoned changes', () => {
    const { contacts } = openWorld({ written: ['waits'] });
    expect([...contacts.coming].sort()).toEqual(['1', '2']);
    const permitted = [changeOf('3', 'present'), changeOf('4', 'absent')];
    const after = contactsAfter(contacts, planOf({ permitted, abandoned: ['2'] }));
    expect([...after.coming].sort()).toEqual(['1', '3']);
  });

  test('are held where the plan holds or refuses them, and no longer for an earlier hold', () => {
    const hold = { target: 'contacts', kind: 'vanished', state: 'open', recordIds: ['1'] } as const;
    const { contacts } = openWorld({ holds: [{ ...hold, recordIds: ['1'] }] });
    expect([...contacts.held]).toEqual(['1']);
    const held = { vanished: [changeOf('2', 'absent')] } as unknown as TargetPlan['held'];
    const after = contactsAfter(contacts, planOf({ held, refused: [changeOf('3', 'absent')] }));
    expect([...after.held]).toEqual(['2', '3']);
  });

  test('exist but are not open while their target is paused in this cycle', () => {
    const resting = contactsBefore(openWorld().input).get('contacts');
    const input = cycleInputOf(quiet({ isResting: true }));
    expect([resting?.isOpen, contactsBefore(input).get('contacts')?.isOpen]).toEqual([true, false]);
  });
});
