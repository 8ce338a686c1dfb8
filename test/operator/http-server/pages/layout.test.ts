import { describe, expect, test } from 'vitest';
import type { AccessLevel } from '../../../../src/core/model/acts.ts';
import { html } from '../../../../src/core/model/html.ts';
import { framed } from '../../../../src/operator/http-server/pages/layout.ts';
import { OWNER } from './open-pages.ts';
import { pageContext, wordsOf } from './page-context.ts';

const PAGE = { title: 'Activity', main: html`<p>main</p>` };
const ROSSI = { id: 'studio rossi', name: 'Studio <Rossi>' };
const RETENTION = { level: 'operator', page: { path: '/retention', names: { en: 'Retention', it: 'Conservazione' } } };

const linksFor = (choice: Parameters<typeof pageContext>[0]) =>
  [...String(framed(pageContext(choice), PAGE)).matchAll(/<li><a href="([^"]+)"/g)].map(([, address]) => address);

describe('the navigation', () => {
  const as = (level: AccessLevel) => ({ ...OWNER, level });

  test.each<[AccessLevel, string[]]>([
    ['viewer', ['/', '/activity']],
    ['operator', ['/', '/activity']],
    ['owner', ['/', '/activity', '/queues', '/installation', '/add-clinic']],
  ])('leads to what the level %s may open of all clinics', (level, addresses) => {
    expect(linksFor({ visitor: as(level) })).toEqual(addresses);
  });

  test('leads to the pages of the clinic that the page is about, those of operations included', () => {
    const operationPages = [RETENTION] as never;
    const of = (level: AccessLevel) =>
      linksFor({ visitor: as(level), tenant: ROSSI, operationPages }).filter((link) => link?.startsWith('/tenants/'));
    const shared = ['', '/plan', '/holds', '/explain', '/history', '/activity'].map(
      (path) => `/tenants/studio%20rossi${path}`,
    );
    expect(of('viewer')).toEqual(shared);
    expect(of('operator')).toEqual([...shared, '/tenants/studio%20rossi/retention']);
    expect(of('owner')).toEqual([
      ...shared,
      '/tenants/studio%20rossi/configuration',
      '/tenants/studio%20rossi/retention',
    ]);
  });

  test('marks the page that is open, whatever its query', () => {
    const shown = String(framed(pageContext({ address: '/activity?after=1' }), PAGE));
    expect(shown.match(/<a href="[^"]*" aria-current="page">/g)).toEqual(['<a href="/activity" aria-current="page">']);
  });

  test('is empty on a page without a visitor, which shows neither a form nor a time', () => {
    const shown = String(framed(pageContext({ visitor: null, tenant: ROSSI }), PAGE));
    expect(shown).not.toMatch(/<nav|<form|csrf|class="foot"/);
  });
});

describe('the frame', () => {
  test('shows the name of a clinic as text, in the title and in the way back to it', () => {
    const shown = String(framed(pageContext({ tenant: ROSSI, address: '/tenants/studio%20rossi/plan' }), PAGE));
    expect(shown).toContain('<title>Activity · Studio &lt;Rossi&gt; – clinic-mirror</title>');
    expect(shown).toContain('<p class="crumb"><a href="/tenants/studio%20rossi">Studio &lt;Rossi&gt;</a></p>');
    expect(shown).not.toContain('<Rossi>');
    const own = framed(pageContext({ tenant: ROSSI, address: '/tenants/studio%20rossi?task=x' }), PAGE);
    expect(String(own)).not.toContain('class="crumb"');
  });

  test('signs out and saves preferences with the proof of the visitor, and comes back to the page', () => {
    const shown = String(framed(pageContext({ address: '/activity?after="x' }), PAGE));
    const forms = shown.match(/<form.*?<\/form>/gs) ?? [];
    expect(forms).toHaveLength(2);
    for (const form of forms) expect(form).toContain(`name="csrf" value="${OWNER.csrf}"`);
    expect(shown).toContain('name="back" value="/activity?after=&quot;x"');
  });

  test('offers the other language, and takes the chosen colours back by the same button', () => {
    const shown = String(framed(pageContext({ language: 'it', theme: 'dark' }), PAGE));
    expect(shown).toContain('<html lang="it" data-theme="dark">');
    expect(shown).toContain('name="language" value="en"');
    expect(shown).toContain('name="theme" value="light" aria-pressed="false"');
    expect(shown).toContain('name="theme" value="" aria-pressed="true"');
  });

  test('follows what happens only where the page does, from what it has seen', () => {
    const live = (page: object, tenant: typeof ROSSI | null = null) =>
      /<body[^>]*>/.exec(String(framed(pageContext({ tenant }), { ...PAGE, ...page })))?.[0];
    expect(live({})).toBe('<body>');
    expect(live({ isLive: true })).toMatch(/^<body data-live="" data-lost="/);
    expect(live({ isLive: true, seen: 'abc' }, ROSSI)).toMatch(/^<body data-live="studio rossi" data-seen="abc" /);
  });

  test('says as of when and in which zone its times are', () => {
    const context = pageContext();
    const shown = (page: object) => wordsOf(framed(context, { ...PAGE, ...page }));
    expect(shown({})).toMatch(/Europe\/Rome · .* 10:00$/);
    expect(shown({ asOf: context.times.now - 60_000 })).toMatch(/ 09:59$/);
  });
});
