import { Counter, Gauge, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { renderMetrics } from '../../tools/metrics-table.ts';

test('the table lists the metrics of clinic-mirror by name, with labels and help, and no others', () => {
  const registers = [new Registry()] as const;
  new Gauge({ name: 'clinic_mirror_waiting', help: 'Messages that wait', registers: [...registers] });
  new Counter({ name: 'clinic_mirror_sent', help: 'Sent', labelNames: ['tenant', 'kind'], registers: [...registers] });
  new Gauge({ name: 'nodejs_heap', help: 'Heap', registers: [...registers] });
  expect(renderMetrics(registers[0]).split('\n').slice(2)).toEqual([
    '| `clinic_mirror_sent` | tenant, kind | Sent |',
    '| `clinic_mirror_waiting` | – | Messages that wait |',
  ]);
});
