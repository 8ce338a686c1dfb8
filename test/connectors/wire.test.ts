import { describe, expect, test } from 'vitest';
import { bodyOf, guardWalk, isSuccess, jsonOf, walkPages } from '../../src/connectors/wire.ts';

const lost = () => new Error('lost');

test.each([
  [199, false],
  [200, true],
  [299, true],
  [300, false],
])('%i is carried out: %s', (status, expected) => {
  expect(isSuccess({ status, body: undefined, retryAfterMs: null })).toBe(expected);
});

describe('a body', () => {
  const answer = (status: number, text: string) => ({ status, headers: new Headers(), body: Buffer.from(text) });

  test('is read as JSON, and is none with 204', async () => {
    expect(await bodyOf(answer(200, '{"a":1}'), 'x')).toEqual({ a: 1 });
    expect(await bodyOf(answer(204, 'nonsense'), 'x')).toBeUndefined();
  });

  test('that is unreadable is an error only with a success status', async () => {
    await expect(bodyOf(answer(200, 'nonsense'), 'x')).rejects.toMatchObject({ code: 'not-json' });
    expect(await bodyOf(answer(500, '<html>'), 'x')).toBeUndefined();
  });

  test('of a batch is undefined if it is unreadable or has too many values', async () => {
    const values = (count: number) => Buffer.from(`[${'0,'.repeat(count)}0]`);
    expect(await jsonOf(values(100_000))).toHaveLength(100_001);
    expect(await jsonOf(values(700_000))).toBeUndefined();
    expect(await jsonOf(Buffer.from('nonsense'))).toBeUndefined();
  });
});

describe('a walk', () => {
  async function walk(next: (at: string) => string | null | undefined, mostPages?: number) {
    const pages: string[] = [];
    const ask = async (at: string | null) => ({ page: at ?? 'first', next: next(at ?? 'first') });
    for await (const page of walkPages<string | null, string>(null, ask, lost, mostPages)) pages.push(page);
    return pages;
  }

  test('goes from page to page until none follows', async () => {
    expect(await walk((at) => ({ first: 'b', b: '' })[at])).toEqual(['first', 'b', '']);
    expect(await walk(() => null)).toEqual(['first']);
  });

  test('that comes to a place twice is lost, also by a longer circle', async () => {
    await expect(walk(() => 'b')).rejects.toThrow('lost');
    await expect(walk((at) => ({ first: 'b', b: 'c', c: 'b' })[at])).rejects.toThrow('lost');
  });

  test('to ever new places ends', async () => {
    await expect(walk((at) => `${at}+`, 3)).rejects.toThrow('lost');
    const visit = guardWalk(lost, 2);
    visit(null);
    visit('null');
    expect(() => visit('c')).toThrow('lost');
  });
});
