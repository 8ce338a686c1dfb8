import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { afterEach, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { addFeatureMetrics } from '../../../src/features/metrics.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';

/* Every metric and label that the alarms and the dashboard name is one of the daemon's: an expression over another one never fires. */

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');
/** Labels that Prometheus adds to a scrape or a histogram. */
const ADDED = ['job', 'instance', 'le'];
const KEYWORDS = new Set([
  'by',
  'on',
  'without',
  'ignoring',
  'and',
  'or',
  'unless',
  'bool',
  'group_left',
  'group_right',
]);
/** `up` is Prometheus' own. */
const OWN_OF_PROMETHEUS = new Set(['up']);

afterEach(() => {
  vi.restoreAllMocks();
});

/** The labels of every metric that the daemon registers. */
function labelsByMetric(): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const register = vi.spyOn(Registry.prototype, 'registerMetric');
  addFeatureMetrics(createMetrics(() => null));
  for (const [metric] of register.mock.calls) {
    const { name, labelNames } = metric as unknown as { name: string; labelNames: string[] };
    found.set(name, labelNames);
  }
  return found;
}

/** An expression's metrics, the labels that it matches on each, and those that it groups all by. */
function namesIn(expr: string): {
  metrics: { name: string; labels: string[]; isScalar: boolean }[];
  grouped: string[];
} {
  const listed = (text: string) =>
    text
      .split(',')
      .map((label) => label.trim())
      .filter((label) => label !== '');
  const grouped = [...expr.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(([, labels = '']) => listed(labels));
  const rest = expr.replaceAll(/\b(?:by|on)\s*\([^)]*\)/g, ' ');
  const metrics = [...rest.matchAll(/([a-z_:][\w:]*)\s*(?:\{([^}]*)\})?(?!\w|\s*\()/gi)]
    .filter(([, name = '']) => /_|^up$/.test(name) && !KEYWORDS.has(name))
    .map(([, name = '', matchers = '']) => ({
      name: name.replace(/_(bucket|sum|count)$/, ''),
      // A number for all: it has no labels left to group by.
      isScalar: new RegExp(`scalar\\(\\w+\\(${name}\\b`).test(expr),
      labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }));
  return { metrics, grouped };
}

const rules = (
  parse(read('deploy/prometheus/rules.yaml')) as {
    groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
  }
).groups.flatMap((group) => group.rules);
const panels = (
  JSON.parse(read('deploy/grafana/dashboard.json')) as { panels: { title: string; targets: { expr: string }[] }[] }
).panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const));

test.each([...rules.map(({ alert, expr }) => [alert, expr] as const), ...panels])(
  '%s uses existing metrics of the daemon, with existing labels',
  (_, expr) => {
    const known = labelsByMetric();
    const { metrics, grouped } = namesIn(expr);
    expect(metrics.length).toBeGreaterThan(0);
    const own = metrics.filter(({ name }) => !OWN_OF_PROMETHEUS.has(name));
    for (const { name, labels, isScalar } of own) {
      const has = known.get(name);
      expect(has, name).toBeDefined();
      expect([...(has ?? []), ...ADDED]).toEqual(expect.arrayContaining([...labels, ...(isScalar ? [] : grouped)]));
    }
  },
);

test('the text of an alarm uses only labels that its expression keeps', () => {
  const known = labelsByMetric();
  const used = rules.flatMap(({ alert, expr, annotations }) => {
    const { metrics } = namesIn(expr);
    const [, kept] = /\bby\s*\(([^)]*)\)/.exec(expr) ?? [];
    const first = metrics[0]?.name ?? '';
    const own = OWN_OF_PROMETHEUS.has(first) ? ADDED : (known.get(first) ?? []);
    const left = kept?.split(',').map((label) => label.trim()) ?? own;
    const said = [
      ...Object.values(annotations)
        .join(' ')
        .matchAll(/\$labels\.(\w+)/g),
    ].map(([, label = '']) => label);
    return said.map((label) => ({ alert, label, isLeft: left.includes(label) }));
  });
  expect(used.length).toBeGreaterThan(10);
  expect(used.filter(({ isLeft }) => !isLeft)).toEqual([]);
});
