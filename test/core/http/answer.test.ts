import { describe, expect, it } from 'vitest';
import { readJson, readLongJson } from '../../../src/core/http/answer.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';

function answer(body: string | Buffer, contentType = 'application/json') {
  return { headers: new Headers({ 'content-type': contentType }), body: Buffer.from(body) };
}

function failure(body: string | Buffer, contentType?: string): MirrorError {
  try {
    readJson(answer(body, contentType), 'clinic.agendas.list');
  } catch (error) {
    if (error instanceof MirrorError) return error;
  }
  throw new Error('expected a MirrorError');
}

describe('readJson', () => {
  it('reads JSON, also after a byte order mark and under another content type', () => {
    expect(readJson(answer('{"a":[1]}'), 'x')).toEqual({ a: [1] });
    expect(readJson(answer('\uFEFF[]'), 'x')).toEqual([]);
    expect(readJson(answer('"è"', 'text/plain'), 'x')).toBe('è');
  });

  it.each([
    ['empty-answer', '', undefined],
    ['html-answer', '  <!doctype html><p>Rossi</p>', undefined],
    ['html-answer', 'please log in, Rossi', 'text/html; charset=utf-8'],
    ['not-utf8', Buffer.from('"citt\u00e0 Rossi"', 'latin1'), undefined],
    ['not-json', '{"lastName":"Rossi","id', undefined],
    ['not-json', 'Rossi', undefined],
  ])('says %s, names the call and quotes nothing', (code, body, contentType) => {
    const error = failure(body, contentType);
    expect(error).toMatchObject({ actor: 'contract', code, retry: 'later' });
    expect(error.message).toMatch(/^clinic\.agendas\.list: /);
    expect(error.cause).toBeUndefined();
    expect(error.message).not.toContain('Rossi');
  });
});

describe('readLongJson', () => {
  const rows = (count: number) => `{"value":[${'{"id":1},'.repeat(count)}{}]}`;

  it('reads JSON of many pieces', async () => {
    expect(await readLongJson(answer(rows(50_000)), 'x')).toEqual(JSON.parse(rows(50_000)));
  });

  it.each([
    ['answer-too-large', rows(400_000)],
    ['not-json', rows(50_000).slice(0, -1)],
    ['not-json', `${rows(400_000)}"`],
    ['not-json', `${rows(50_000)}}`],
    ['empty-answer', ''],
  ])('says %s', async (code, body) => {
    await expect(readLongJson(answer(body), 'x')).rejects.toMatchObject({ code });
  });
});
