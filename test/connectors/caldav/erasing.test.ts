import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/model/operations.ts';
import { deleteOperation, describeOutcome, keyOf } from '../../contract/contract-kit.ts';
import { holding, ours } from './scripted-calendar.ts';
import { openOn, type ScriptedAnswer, type SeenRequest, serve, signal } from './scripted-server.ts';

const HREF = `/cal/${keyOf('a')}.ics`;
const ERASURE = { ...deleteOperation('a', '"1"'), erase: true };

/** A calendar that holds our object, and answers writes as told. */
async function eraseOn(answers: Record<'PUT' | 'DELETE', ScriptedAnswer>, objects = { [HREF]: ours('a') }) {
  const reading = holding(objects, {});
  const server = await serve((request: SeenRequest) => {
    const { method } = request;
    return method === 'PUT' || method === 'DELETE' ? answers[method] : reading(request);
  });
  const outcomes: Outcome[] = await openOn(server).apply(server.container, [ERASURE], signal());
  return { server, outcome: outcomes[0] };
}

const DONE: ScriptedAnswer = { status: 204, headers: { etag: '"2"' } };

describe('an erased object', () => {
  test('is emptied first, so that a trash bin keeps nothing of it', async () => {
    const { server, outcome } = await eraseOn({ PUT: DONE, DELETE: { status: 204 } });
    expect(describeOutcome(outcome)).toBe('deleted deleted');
    expect(server.log().slice(1)).toEqual([`PUT ${HREF}`, `DELETE ${HREF}`]);
    const [, put, deletion] = server.requests;
    expect(put?.headers['if-match']).toBe('"1"');
    expect(put?.body).toContain('20000101');
    expect(put?.body).not.toContain('Appointment');
    expect(deletion?.headers['if-match']).toBe('"2"');
  });

  test('is deleted as it is where the server refuses an empty one', async () => {
    const { server, outcome } = await eraseOn({ PUT: { status: 403 }, DELETE: { status: 204 } });
    expect(describeOutcome(outcome)).toBe('deleted deleted');
    expect(server.requests.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'if-match': '"1"' } });
  });

  test('is tried again when a person changed it meanwhile', async () => {
    const { server, outcome } = await eraseOn({ PUT: { status: 412 }, DELETE: { status: 204 } });
    expect(outcome).toMatchObject({ result: 'failed', error: { actor: 'conflict' } });
    expect(server.requests.map(({ method }) => method)).not.toContain('DELETE');
  });

  test("is left alone when it is somebody else's by now", async () => {
    const { server, outcome } = await eraseOn({ PUT: DONE, DELETE: DONE }, { [HREF]: ours('a', 'othermark0other0') });
    expect(describeOutcome(outcome)).toBe('deleted already-gone');
    expect(server.requests).toHaveLength(1);
  });
});
