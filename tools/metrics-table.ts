import type { Registry } from 'prom-client';
import { z } from 'zod';

/** Prefix of the metrics that the table lists; `process_*` and `nodejs_*` are those of prom-client. */
const PREFIX = 'clinic_mirror_';

/** The parts of a registered metric that the table shows. */
const described = z.array(z.object({ name: z.string(), help: z.string(), labelNames: z.array(z.string()) }));

/** Returns a Markdown table of the metrics of clinic-mirror, sorted by name. */
export function renderMetrics(registry: Registry): string {
  const rows = described
    .parse(registry.getMetricsAsArray())
    .filter(({ name }) => name.startsWith(PREFIX))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, help, labelNames }) => `| \`${name}\` | ${labelNames.join(', ') || '–'} | ${help} |`);
  return ['| metric | labels | meaning |', '|---|---|---|', ...rows].join('\n');
}
