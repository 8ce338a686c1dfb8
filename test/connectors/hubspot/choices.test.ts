import { describe, expect, test } from 'vitest';
import type { CrmItem, MappedProperty } from '../../../src/core/model/items.ts';
import { containerOf } from '../../support/container-of.ts';
import { contact, NO_SIGNAL, startWorld } from './support.ts';

/** An account with two pipelines whose last stages have one name, and deals that are mapped by names. */
async function open(words: { pipeline?: string[]; stage: string[] }) {
  const world = await startWorld();
  const treatments = world.sandbox.addPipeline('Treatments', ['Offered', 'Paid']);
  const courses = world.sandbox.addPipeline('Courses', ['Booked', 'Paid']);
  const contacts = await world.target();
  await contacts.write(contacts.create('anna', contact({})));
  const properties: MappedProperty[] = [
    { name: 'dealname', kind: 'text' },
    ...(words.pipeline === undefined ? [] : [{ name: 'pipeline', kind: 'text', words: words.pipeline } as const]),
    { name: 'dealstage', kind: 'text', words: words.stage },
  ];
  const target = world.open({ stream: 'invoices', properties });
  const item = (stage: string): CrmItem => ({
    properties: {
      dealname: 'Invoice 7',
      ...(words.pipeline === undefined ? {} : { pipeline: words.pipeline[0]! }),
      dealstage: stage,
    },
    contactKey: contacts.identity.key('anna', 0),
    startAt: Date.parse('2027-03-10T00:00:00Z'),
  });
  const prepare = async () => {
    target.container = await containerOf(target.connector, null, NO_SIGNAL);
  };
  return { world, target, item, prepare, treatments, courses };
}

describe('a pipeline and its stages by their names', () => {
  test('are written as the ids of that pipeline, and read back as the names', async () => {
    const { world, target, item, prepare, courses } = await open({ pipeline: ['courses'], stage: ['Booked', 'Paid'] });
    await prepare();
    const [written] = await target.write(target.create('i', item('Paid')));
    expect(world.record(target, 'deals', 'i')?.properties).toMatchObject({
      pipeline: courses.id,
      dealstage: courses.stages[1]?.id,
    });
    expect(written?.stored?.properties).toEqual(item('Paid').properties);
    expect((await target.readAll()).map((one) => one.item)).toEqual([item('Paid')]);
  });

  test('are read back as the names also by a process that only looks', async () => {
    const { world, target, item, prepare } = await open({ pipeline: ['Courses'], stage: ['Paid'] });
    await prepare();
    await target.write(target.create('i', item('Paid')));
    const { connector } = world.open({
      stream: 'invoices',
      properties: [
        { name: 'dealname', kind: 'text' },
        { name: 'pipeline', kind: 'text', words: ['Courses'] },
        { name: 'dealstage', kind: 'text', words: ['Paid'] },
      ],
    });
    const read = (await Array.fromAsync(connector.read(target.container, null, NO_SIGNAL))).flat();
    expect(read.map((one) => one.item)).toEqual([item('Paid')]);
  });

  test('that is moved by hand to another stage reads as that', async () => {
    const { world, target, item, prepare, courses } = await open({ pipeline: ['Courses'], stage: ['Booked', 'Paid'] });
    await prepare();
    const [written] = await target.write(target.create('i', item('Paid')));
    world.sandbox.edit('deals', written?.remoteId ?? '', { dealstage: courses.stages[0]?.id ?? '' });
    expect((await target.readAll())[0]?.item?.properties.dealstage).toBe('Booked');
  });

  test('remain unchanged if ids are mapped', async () => {
    const { world, target, item, prepare } = await open({ stage: ['closedwon'] });
    await prepare();
    await target.write(target.create('i', item('closedwon')));
    expect(world.record(target, 'deals', 'i')?.properties.dealstage).toBe('closedwon');
  });

  test.each<[string, { pipeline?: string[]; stage: string[] }, RegExp]>([
    [
      'a pipeline that is not there',
      { pipeline: ['Cures'], stage: ['Booked'] },
      /deals\.pipeline has no "Cures"; available: default, Treatments \(\d+\), Courses \(\d+\)/,
    ],
    [
      'a stage of another pipeline',
      { pipeline: ['Courses'], stage: ['Offered'] },
      /deals\.dealstage has no "Offered"; available: Booked \(\d+\), Paid \(\d+\)/,
    ],
    [
      'a stage of two, without a pipeline',
      { stage: ['Paid'] },
      /deals\.dealstage has several options with the name "Paid"/,
    ],
  ])('are refused before anything is written: %s', async (_, words, message) => {
    const { prepare } = await open(words);
    await expect(prepare()).rejects.toMatchObject({ code: 'option-missing', message: expect.stringMatching(message) });
  });
});
