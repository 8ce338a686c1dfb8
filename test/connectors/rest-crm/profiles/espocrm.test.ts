import { describe, expect, test } from 'vitest';
import { containerOf } from '../../../support/container-of.ts';
import { contact, effectOf, signal } from '../harness.ts';
import { openProfile, PROFILE_CASES } from '../profiles.ts';

const START = Date.parse('2027-03-01T09:30:00Z');

describe('EspoCRM', () => {
  const espocrm = PROFILE_CASES.find(({ dialect }) => dialect === 'espocrm')!;
  const VISIT = { name: 'Visit', assignedUserId: 'a1b2c3d4e5f6a7b8c' };
  const texts = (...names: string[]) => names.map((name) => ({ name, kind: 'text' as const }));

  test('accepts the ids of links, which it lists without `Id`, and lists absent links', async () => {
    const { sandbox, open } = await openProfile(espocrm);
    const contactless = { contactKey: null, startAt: START };
    const visits = open({ stream: 'appointments', properties: texts('name', 'assignedUserId') });
    await containerOf(visits.connector, null, signal());
    await visits.written(visits.create('v1', { properties: VISIT, ...contactless }));
    expect(sandbox.records('Meeting')).toMatchObject([{ values: { assignedUserId: VISIT.assignedUserId } }]);
    const [refused] = await visits.apply(
      visits.create('v2', { properties: { ...VISIT, assignedUserId: null }, ...contactless }),
    );
    expect(refused).toMatchObject({
      result: 'failed',
      error: { code: 'record-refused', message: expect.stringMatching(/: assignedUser$/) },
    });
    const misspelt = open({ stream: 'appointments', properties: texts('name', 'assignedUsersId', 'assignedUser') });
    await expect(containerOf(misspelt.connector, null, signal())).rejects.toMatchObject({
      code: 'crm-property-missing',
      message: expect.stringMatching(/: assignedUsersId$/),
    });
  });

  test('reports no version: the content of a contact applies', async () => {
    const { sandbox, target } = await openProfile(espocrm);
    const { versionTag } = await target.written(target.create('p1', contact(espocrm.person)));
    expect(versionTag).toBeNull();
    // As after an opt-out of the e-mail address at another contact: the modification time is unchanged.
    sandbox.records('Contact')[0]!.values.doNotCall = false;
    expect((await target.readAll())[0]).toMatchObject({ versionTag: null, item: { properties: { doNotCall: false } } });
  });

  test('deletes a duplicated record with its copies, and writes the known one', async () => {
    const { sandbox, target } = await openProfile(espocrm);
    const { remoteId } = await target.written(target.create('p1', contact(espocrm.person)));
    await target.written(target.create('p2', contact(espocrm.person)));
    const copy = sandbox.duplicateByHand('Contact', remoteId!);
    const changed = contact({ ...espocrm.person, firstName: 'Maria' });
    expect((await target.written(target.update('p1', changed, remoteId))).remoteId).toBe(remoteId);
    expect(sandbox.records('Contact').map(({ values }) => values.firstName)).toEqual(['Maria', 'Anna', 'Anna']);
    expect((await target.apply(target.create('p1', changed))).map(effectOf)).toEqual(['several-matches']);
    sandbox.editByHand('Contact', copy.id, { cMirrorStamp: null });
    expect((await target.apply(target.remove('p1', remoteId, true))).map(effectOf)).toEqual(['deleted']);
    expect(sandbox.records('Contact')).toHaveLength(1);
    expect((await target.apply(target.remove('p1', remoteId))).map(effectOf)).toEqual(['already-gone']);
  });
});
