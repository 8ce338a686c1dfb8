import { afterEach, describe, expect, test } from 'vitest';
import { useRedis } from '../../../support/redis.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { OWNER, openActsPages, openPages } from './open-pages.ts';

const redis = useRedis();
const NO_CLINIC = openInstallation({ tenants: [] });
const TENANT = 'studio-rossi';

describe('live pages', () => {
  const streams: AbortController[] = [];
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.abort();
  });

  /** What a browser reads of the stream until a text comes, or it ends. */
  async function follow(url: string, headers: Record<string, string> = {}) {
    const ending = new AbortController();
    streams.push(ending);
    const response = await fetch(url, { signal: ending.signal, headers });
    const heard = { text: '', isOver: false };
    const reading = (async () => {
      for await (const chunk of response.body ?? []) heard.text += new TextDecoder().decode(chunk);
    })();
    reading
      .catch(() => {})
      .finally(() => {
        heard.isOver = true;
      });
    return { response, heard };
  }

  test('learn that something changed, without any content', async () => {
    const { listen, changedRun } = await openActsPages(redis.connect());
    const { response, heard } = await follow(`${await listen()}/events?tenant=${TENANT}`);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    await waitFor(() => heard.text.includes('id: '), { what: 'the first look' });
    expect(heard.text).not.toContain('changed');
    await changedRun();
    await waitFor(() => heard.text.includes('event: changed\ndata:\n\n'), { what: 'the change' });
    expect(heard.text.replaceAll(/^(id: [\w-]{43}|event: changed|data:|retry: 3000|:|)$/gm, '').trim()).toBe('');
  });

  test('receive changes of the time while they were disconnected', async () => {
    const { listen } = await openActsPages(redis.connect());
    const url = await listen();
    const again = await follow(`${url}/events?tenant=${TENANT}`, { 'last-event-id': 'of-before' });
    const older = await follow(`${url}/events?seen=of-an-older-page`);
    await waitFor(() => again.heard.text.includes('changed'), { what: 'the change, after a reconnect' });
    await waitFor(() => older.heard.text.includes('changed'), { what: 'the change for a user with an older page' });
  });

  test('close when the server closes', async () => {
    const { app, listen } = await openActsPages(redis.connect());
    const { heard } = await follow(`${await listen()}/events`);
    await app.close();
    await waitFor(() => heard.isOver, { what: 'the end' });
  });

  test('are followed by one visitor at eight places at most', async () => {
    const { listen } = await openPages({ installation: NO_CLINIC });
    const url = await listen();
    const statuses: number[] = [];
    for (let count = 0; count < 9; count += 1) statuses.push((await follow(`${url}/events`)).response.status);
    expect(statuses).toEqual([...Array.from({ length: 8 }, () => 200), 429]);
  });

  test('of a clinic that a user must not see are not found', async () => {
    const { app } = await openActsPages(redis.connect(), { visitor: { ...OWNER, tenants: new Set(['another']) } });
    for (const url of [`/events?tenant=${TENANT}`, '/events?tenant=nobody', `/tenants/${TENANT}`]) {
      expect((await app.inject({ url })).statusCode).toBe(404);
    }
  });
});
