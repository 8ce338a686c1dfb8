import { describe, expect, test } from 'vitest';
import type { Operation } from '../../../src/core/model/operations.ts';
import {
  createOperation,
  deleteOperation,
  describeOutcome,
  itemWith,
  keyOf,
  updateOperation,
} from '../../contract/contract-kit.ts';
import { etag } from './scripted-calendar.ts';
import { member, multistatus, openOn, type Script, serve, signal, stored } from './scripted-server.ts';

/** A calendar that accepts several objects with one UID, as some servers do. @param finds what its searches cover */
async function takingTwins(finds: 'properties' | 'nothing' = 'properties') {
  const objects = new Map<string, { data: string; tag: string }>();
  let writes = 0;
  const search = (body: string): string[] => {
    const [, value = ''] = /<C:text-match[^>]*>([^<]*)/.exec(body) ?? [];
    return finds === 'nothing' ? [] : [...objects].flatMap(([href, { data }]) => (data.includes(value) ? [href] : []));
  };
  const script: Script = ({ method, path, headers, body }) => {
    const there = objects.get(path);
    if (method === 'REPORT') {
      if (body.includes('calendar-query')) return multistatus(...search(body).map(etag));
      if (body.includes('sync-collection')) return { status: 403 };
      const hrefs = [...body.matchAll(/<D:href>([^<]*)/g)].map(([, href]) => href!);
      return multistatus(
        ...hrefs.map((href) => {
          const object = objects.get(href);
          return object === undefined ? member(href, '404 Not Found') : stored(href, object.tag, object.data);
        }),
      );
    }
    if (method === 'PROPFIND') return multistatus(...[...objects.keys()].map(etag));
    const isRefused =
      headers['if-none-match'] === '*'
        ? there !== undefined
        : headers['if-match'] !== undefined && headers['if-match'] !== there?.tag;
    if (isRefused) return { status: 412 };
    if (method === 'DELETE') return { status: objects.delete(path) ? 204 : 404 };
    writes += 1;
    objects.set(path, { data: body, tag: `"${writes}"` });
    return { status: there === undefined ? 201 : 204, headers: { etag: `"${writes}"` } };
  };
  const server = await serve(script);
  return {
    objects,
    titles: () => [...objects.values()].map(({ data }) => /SUMMARY:(.*)\r/.exec(data)?.[1]).sort(),
    rename(recordId: string, name: string) {
      const href = `/cal/${keyOf(recordId)}.ics`;
      objects.set(`/cal/${name}`, objects.get(href)!);
      objects.delete(href);
    },
    async apply(operation: Operation) {
      const [outcome] = await openOn(server).apply(server.container, [operation], signal());
      return outcome!;
    },
    read: async () => (await Array.fromAsync(openOn(server).read(server.container, null, signal()))).flat(),
  };
}

describe.for(['properties', 'nothing'] as const)('an object that a client renamed, where searches find %s', (finds) => {
  async function renamed() {
    const calendar = await takingTwins(finds);
    const outcome = await calendar.apply(createOperation('a'));
    calendar.rename('a', 'renamed.ics');
    return { calendar, versionTag: outcome.result === 'written' ? outcome.versionTag : null };
  }

  test('is changed under its new name, without a duplicate', async () => {
    const { calendar, versionTag } = await renamed();
    const outcome = await calendar.apply({
      ...updateOperation('a', itemWith({ title: 'Moved' }), versionTag),
      revision: 2,
    });
    expect(outcome).toMatchObject({ result: 'written', effect: 'updated', remoteId: 'renamed.ics' });
    expect(calendar.titles()).toEqual(['Moved']);
  });

  test('is adopted by a create that was tried before', async () => {
    const { calendar } = await renamed();
    const outcome = await calendar.apply({ ...createOperation('a'), mayExist: true });
    expect(outcome).toMatchObject({ result: 'written', effect: 'adopted', remoteId: 'renamed.ics' });
    expect(calendar.objects.size).toBe(1);
  });

  test('is deleted under its new name', async () => {
    const { calendar, versionTag } = await renamed();
    expect(describeOutcome(await calendar.apply(deleteOperation('a', versionTag)))).toBe('deleted deleted');
    expect(calendar.objects.size).toBe(0);
  });

  test('and that carries a later write remains unchanged', async () => {
    const { calendar, versionTag } = await renamed();
    const [, object] = [...calendar.objects][0]!;
    object.data = object.data.replace(/(REVISION.*):1\r/, '$1:9\r');
    const outcome = await calendar.apply(updateOperation('a', itemWith({ title: 'Older' }), versionTag));
    expect(outcome).toMatchObject({ result: 'superseded', revision: 9, remote: { remoteId: 'renamed.ics' } });
    expect(calendar.titles()).toEqual(['Appointment']);
  });
});

describe('two objects with one UID', () => {
  async function twins() {
    const calendar = await takingTwins();
    await calendar.apply(createOperation('a'));
    calendar.rename('a', 'renamed.ics');
    await calendar.apply({ ...createOperation('a', itemWith({ title: 'Second' })), revision: 2 });
    return calendar;
  }

  test('are both read', async () => {
    const calendar = await twins();
    const read = await calendar.read();
    expect(read.map(({ key }) => key)).toEqual([keyOf('a'), keyOf('a')]);
    expect(read.map(({ remoteId }) => remoteId).sort()).toEqual([keyOf('a'), 'renamed.ics'].sort());
  });

  test('are one after the surplus one was deleted, and no more go when it was gone already', async () => {
    const calendar = await twins();
    const remove = { ...deleteOperation('a', '"1"', 'renamed.ics'), isDuplicate: true };
    expect(describeOutcome(await calendar.apply(remove))).toBe('deleted deleted');
    expect(calendar.titles()).toEqual(['Second']);
    expect(describeOutcome(await calendar.apply(remove))).toBe('deleted already-gone');
    expect(calendar.titles()).toEqual(['Second']);
  });
});
