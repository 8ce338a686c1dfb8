import type { FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../../src/core/model/time.ts';
import {
  contextOf,
  reasonField,
  strangerContext,
  timesIn,
} from '../../../../src/operator/http-server/pages/context.ts';
import { NOW } from '../../../domain/arbitraries.ts';
import { useRedis } from '../../../support/redis.ts';
import { cycle } from '../../../tenant/cycle.ts';
import { openActing } from '../../control/acting.ts';
import { openBooked, openInstallation } from '../../control/open-installation.ts';
import { openServices } from '../open-services.ts';
import { OWNER } from './open-pages.ts';
import { pageContext, wordsOf } from './page-context.ts';

const redis = useRedis();

describe('a time', () => {
  const times = timesIn('Europe/Rome', 'en', NOW);

  test('is in the time of the zone, with the day if not today, and the year if not this one', () => {
    expect(times.text(NOW)).toBe('10:00');
    expect(times.text(NOW + DAY_MS)).toMatch(/^16 Jun, 10:00$/);
    expect(times.text(NOW + 365 * DAY_MS)).toMatch(/^15 Jun 2027, 10:00$/);
    // 23:30 in Rome, and the day before in UTC.
    expect(times.text(Date.UTC(2026, 5, 14, 22, 30))).toBe('00:30');
  });

  test('is complete in the element, to the second', () => {
    expect(String(times.at(NOW))).toMatch(
      /^<time datetime="2026-06-15T08:00:00\.000Z" title="[^"]*10:00:00[^"]*">10:00</,
    );
  });

  test.each([
    [-30 * SECOND_MS, /30 sec/],
    [-59 * MINUTE_MS, /59 min/],
    [-(2 * HOUR_MS - 1), /1 hr/],
    [-(2 * DAY_MS + HOUR_MS), /2 days ago/],
    [3 * HOUR_MS, /in 3 hr/],
  ])('%d ms from now is shown in its largest whole unit', (sinceMs, told) => {
    expect(times.age(NOW + sinceMs)).toMatch(told);
  });
});

const requestOf = (headers: Record<string, string>, visitor = OWNER as typeof OWNER | null) =>
  ({ headers, visitor, url: '/plan?x=1', server: {} }) as unknown as FastifyRequest;

describe('the preferences of a visitor', () => {
  test.each([
    ['their cookies', { cookie: 'language=it; theme=dark', 'accept-language': 'en' }, 'it', 'dark'],
    ['their browser, where they chose nothing', { 'accept-language': 'it-IT,it;q=0.9' }, 'it', null],
    ['their browser, where a cookie holds no choice', { cookie: 'language=xx; theme=pink' }, 'en', null],
  ])('is taken from %s', (_, headers, language, theme) => {
    expect(strangerContext(requestOf(headers), NOW)).toMatchObject({ language, theme, visitor: null, tenant: null });
  });
});

describe('a page of a clinic', () => {
  const installation = openInstallation({ tenants: [] });
  const outlines = new Map(
    [
      ['a', 'Europe/Rome'],
      ['b', 'Europe/Lisbon'],
      ['c', 'Europe/Rome'],
    ].map(([id, zone]) => [id, { zone, name: `Studio ${id}` }]),
  );
  const services = openServices({ ...installation, outlines } as never);
  const zoneFor = (visitor: typeof OWNER, tenant?: string) =>
    contextOf(requestOf({}, visitor), services, tenant).times.zone;

  test('has the zone of its clinic', () => {
    expect(zoneFor(OWNER, 'b')).toBe('Europe/Lisbon');
    expect(contextOf(requestOf({}), services, 'b').tenant).toEqual({ id: 'b', name: 'Studio b' });
  });

  test('names targets by their doctors in every clinic, and unknown targets by their ids', async () => {
    const { tenant, installation: booked } = openBooked(redis, 1);
    const nameOf = () => contextOf(requestOf({}), openServices(booked)).targetName;
    expect(nameOf()(tenant.id, 'doctor')).toBe('doctor (Model)');
    await cycle(tenant);
    expect(nameOf()(tenant.id, 'doctor')).toBe('Agenda a1, Agenda a2 (Model)');
    expect([nameOf()(tenant.id, 'gone'), nameOf()('nobody', 'doctor')]).toEqual(['gone', 'doctor']);
  });

  test('has the pages of the clinic’s features only', () => {
    const replies = { page: { path: '/replies', isOf: ({ reminders }: { reminders: unknown }) => reminders !== null } };
    const server = { operationPages: [replies, { page: { path: '/retention' } }] };
    const pathsFor = (reminders: object | null, tenant?: string) => {
      const open = new Map([['b', { reminders }]]);
      const request = Object.assign(requestOf({}), { server });
      const context = contextOf(
        request as never,
        openServices({ ...installation, outlines, tenants: open } as never),
        tenant,
      );
      return context.operationPages.map(({ page }) => page.path);
    };
    expect(pathsFor({}, 'b')).toEqual(['/replies', '/retention']);
    expect(pathsFor(null, 'b')).toEqual(['/retention']);
  });

  test('about all clinics has the most common zone of the visitor’s clinics: other clinics are not considered', () => {
    expect(zoneFor(OWNER)).toBe('Europe/Rome');
    expect(zoneFor({ ...OWNER, tenants: new Set(['b']) })).toBe('Europe/Lisbon');
    expect(zoneFor({ ...OWNER, tenants: new Set([]) })).toBe('UTC');
  });
});

test('a reason is required by the configured verbs, and never without a visitor', () => {
  const acting = () => openActing({ reasonFor: ['sync'] });
  const services = openServices(openInstallation({ tenants: [] }), { acting });
  expect(String(reasonField(pageContext(), services, 'sync'))).toMatch(/name="why" required .*id="why-hint-sync"/s);
  expect(reasonField(pageContext(), services, 'audit')).toBeNull();
  expect(reasonField(pageContext({ visitor: null }), services, 'sync')).toBeNull();
  expect(wordsOf(reasonField(pageContext({ language: 'it' }), services, 'sync') ?? '')).not.toMatch(/reason/i);
});
