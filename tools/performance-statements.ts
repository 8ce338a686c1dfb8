import type { SIZES } from '../bench/scale/growth-sizes.ts';

/** One line of the page: figures of one measurement, and their meaning for a clinic. */
export interface Statement {
  /** The name of the measurement. */
  result: string;
  /** What precedes each value, and the name of the figure. */
  figures: readonly (readonly [name: string, figure: string])[];
  label: string;
  /** What follows each value. */
  unit: string;
  meaning: string;
}

/** A value of a row in each line: name, field, and the factor from the unit of the field to the shown unit. */
export interface GrowthPanel {
  title: string;
  lines: readonly (readonly [name: string, field: string, factor?: number])[];
}

const percentiles = (name: string) => ['p50', 'p95', 'p99'].map((share) => [share, `${name} ${share}`] as const);
const first = (vendor: string) => [['', `first ${vendor}`]] as const;

const script = (kind: 'wall' | 'cpu') =>
  [
    ['first sync', `script first ${kind}`],
    ['no changes', `script quiet ${kind}`],
    ['twenty moved', `script changed ${kind}`],
  ] as const;

/** The figures of the page by part. */
export const STATEMENTS: Readonly<Record<string, readonly Statement[]>> = {
  latency: [
    {
      ...{ result: 'latency', figures: percentiles('latency'), unit: ' ms' },
      label: 'Clinic that answers at once',
      meaning: 'clinic-mirror itself adds this time, and a front desk does not notice the delay.',
    },
    {
      ...{ result: 'latency', figures: percentiles('latency, clinic 50 ms'), unit: ' ms' },
      label: 'Clinic that answers after 50 ms',
      meaning:
        'The answers of the clinic system are most of the wait: about 17 requests, of which four run at the same time.',
    },
  ],
  cycle: [
    {
      ...{ result: 'quiet', figures: [['', 'quiet']], unit: ' times' },
      label: 'Cycle without changes, against fetching and parsing the same pages',
      meaning: 'Below 1, a clinic in which nothing happens costs less than a program that only reads the same lists.',
    },
    {
      ...{ result: 'quiet', figures: [['', 'trickle']], unit: ' times' },
      label: 'Cycle in which one appointment in a thousand changed',
      meaning: 'The part above 1 is the check, the plan and the write of each change.',
    },
    {
      ...{ result: 'redis', figures: [['', 'redis bytes a link']], unit: ' bytes' },
      label: 'Redis memory for one appointment in one target',
      meaning: 'The state of a clinic with 20,000 appointments fits into a few megabytes.',
    },
  ],
  first: [
    {
      ...{ result: 'first', figures: first('google-calendar'), unit: ' times' },
      label: 'Google Calendar',
      meaning: 'The first calendars of a clinic are complete about as soon as the servers accept the events.',
    },
    {
      ...{ result: 'first', figures: first('outlook-calendar'), unit: ' times' },
      label: 'Outlook',
      meaning: 'The quota of Microsoft decides when the calendars of a new clinic are complete.',
    },
    {
      ...{ result: 'first', figures: first('hubspot'), unit: ' times' },
      label: 'HubSpot',
      meaning: 'The contacts of a clinic are complete about as soon as HubSpot accepts the records.',
    },
    {
      ...{ result: 'first', figures: first('caldav'), unit: ' times' },
      label: 'CalDAV',
      meaning: 'A server of the clinic gets one request for each event, and its speed decides.',
    },
  ],
  others: [
    {
      ...{ result: 'script', figures: script('wall'), unit: ' times' },
      label: 'Time, against a plain script',
      meaning: 'A cycle takes about as long as a run of the script.',
    },
    {
      ...{ result: 'script', figures: script('cpu'), unit: ' times' },
      label: 'Processor time, against a plain script',
      meaning: 'The state in Redis and the checks increase the processor time of a cycle with changes.',
    },
    {
      ...{ result: 'peer', unit: ' times' },
      figures: [
        ['upload', 'peer upload'],
        ['processor time of the upload', 'peer upload CPU'],
        ['check without changes', 'peer quiet'],
      ],
      label: 'Against vdirsyncer, into Radicale',
      meaning:
        'The CalDAV server decides how long an upload takes, and a repeated check of both sides needs a fraction of the time.',
    },
    {
      ...{ result: 'keeper', unit: ' times' },
      figures: [
        ['first sync', 'keeper first'],
        ['no changes', 'keeper quiet'],
      ],
      label: 'Processor time, against the sync core of keeper.sh',
      meaning:
        'The core gets its events from memory and keeps its state there. clinic-mirror reads the clinic, checks, guards and stores each write before it is sent; that is the difference of a first sync.',
    },
    {
      ...{ result: 'n8n', figures: [['first sync', 'n8n first']], unit: ' times as fast' },
      label: 'Speed, against a workflow of n8n',
      meaning: 'n8n sends one request after the other, and has no memory of what it wrote.',
    },
  ],
};

const ONE_TENANT: readonly GrowthPanel[] = [
  {
    title: 'Time (s)',
    lines: [
      ['first sync', 'firstSeconds'],
      ['cycle without changes', 'quietWallSeconds'],
    ],
  },
  {
    title: 'Processor time of a cycle (s)',
    lines: [
      ['without changes', 'quietSeconds'],
      ['1 in 1,000 changed', 'trickleSeconds'],
    ],
  },
  { title: 'Most memory of the process (MiB)', lines: [['process', 'peakMebibytes']] },
  { title: 'Redis memory (MB)', lines: [['state', 'stateBytes', 1e-6]] },
  { title: 'Commands to Redis in a cycle', lines: [['commands', 'commands']] },
];

/** The pictures of growth by what grows. */
export const GROWTH: Readonly<
  Record<keyof typeof SIZES, { title: string; xTitle: string; panels: readonly GrowthPanel[] }>
> = {
  appointments: { title: 'Growth with the appointments of a clinic', xTitle: 'appointments', panels: ONE_TENANT },
  targets: { title: 'Growth with the targets of a clinic', xTitle: 'targets', panels: ONE_TENANT },
  tenants: {
    title: 'Growth with the clinics of a daemon',
    xTitle: 'clinics',
    panels: [
      {
        title: 'Time of a start (s)',
        lines: [
          ['open ports', 'portsSeconds'],
          ['all clinics checked', 'checkedSeconds'],
        ],
      },
      { title: 'Processor seconds per minute', lines: [['daemon', 'cpuSecondsPerMinute']] },
      {
        title: 'Memory of the daemon (MB)',
        lines: [
          ['idle', 'idleMegabytes'],
          ['at work', 'workMegabytes'],
        ],
      },
      { title: 'Redis memory (MB)', lines: [['state', 'stateBytes', 1e-6]] },
      { title: 'Commands at Redis per second', lines: [['commands', 'commandsPerSecond']] },
    ],
  },
};
