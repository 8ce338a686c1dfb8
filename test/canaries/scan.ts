import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { renderTable } from '../../src/operator/cli/table.ts';
import { tracesIn } from '../e2e/support/crm-traces.ts';

/** Strings that may appear in no place: patient data of a clinic, and secrets. */
export interface Canaries {
  patients: readonly string[];
  secrets: readonly string[];
}

/** Result of one place's scan. */
export interface ScannedPlace {
  place: string;
  bytes: number;
  /** Canaries that were met, in whichever form. */
  found: string[];
  /** Canaries planted into a copy of the place, each in some form, and the number of them that the scan found. */
  planted: number;
  foundPlanted: number;
}

/** The places of one journey through the product. */
export interface CanaryReport {
  journey: string;
  places: ScannedPlace[];
}

/** Forms of a leaked string: each canary is planted in one of them. */
const FORMS: readonly ((canary: string) => string)[] = [
  (canary) => canary,
  (canary) => canary.toUpperCase(),
  (canary) => JSON.stringify(canary),
  (canary) => encodeURIComponent(canary),
  (canary) => `${new URLSearchParams({ canary })}`,
  (canary) => Buffer.from(canary).toString('hex'),
  (canary) => Buffer.from(`x${canary}yz`).toString('base64'),
  (canary) => Buffer.from(`xy${canary}z`).toString('base64url'),
];

/** Searches every place for canaries, and also a copy with all canaries planted, in which the scan must find each. */
export function scanPlaces(places: ReadonlyMap<string, string>, { patients, secrets }: Canaries): ScannedPlace[] {
  const canaries = [...new Set([...patients, ...secrets])];
  return [...places].map(([place, text], turn) => ({
    place,
    bytes: Buffer.byteLength(text),
    found: tracesIn(text, canaries),
    planted: canaries.length,
    foundPlanted: tracesIn(plant(text, canaries, turn), canaries).length,
  }));
}

/** Spread over the text, each between characters of no form. */
function plant(text: string, canaries: readonly string[], turn: number): string {
  const share = Math.floor(text.length / (canaries.length + 1));
  const pieces = canaries.map((canary, index) => {
    const form = FORMS[(index + turn) % FORMS.length] as (canary: string) => string;
    return `${text.slice(index * share, (index + 1) * share)}\n${form(canary)}\n`;
  });
  return pieces.join('') + text.slice(canaries.length * share);
}

/** Every file below a directory, with its name, as text. */
export async function filesBelow(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const texts = await Promise.all(files.map(async (file) => `${file}\n${await readFile(file, 'utf8')}`));
  return texts.join('\n');
}

/** Where reports are kept, one JSON file per journey. */
export const REPORT_DIRECTORY = join(import.meta.dirname, '../../.cache/canaries');

/** Saves the places of a journey for `npm run canaries`, replacing the previous ones. */
export function saveReport(report: CanaryReport): void {
  mkdirSync(REPORT_DIRECTORY, { recursive: true });
  writeFileSync(join(REPORT_DIRECTORY, `${report.journey}.json`), JSON.stringify(report));
}

/** All journeys that were kept. */
export function loadReports(): CanaryReport[] {
  const names = readdirSync(REPORT_DIRECTORY).sort();
  return names.map((name) => JSON.parse(readFileSync(join(REPORT_DIRECTORY, name), 'utf8')) as CanaryReport);
}

/** Renders each place with its size, its findings, and the findings of its control. */
export function renderCanaries(reports: readonly CanaryReport[]): string {
  const columns = [
    'journey',
    'place',
    { heading: 'bytes', right: true },
    { heading: 'findings', right: true },
    { heading: 'planted', right: true },
    { heading: 'found of them', right: true },
  ];
  const all = reports.flatMap(({ journey, places }) => places.map((place) => ({ journey, ...place })));
  const rows = all.map(({ journey, place, bytes, found, planted, foundPlanted }) => [
    ...[journey, place, bytes.toLocaleString('en')],
    ...[found.length, planted, foundPlanted].map(String),
  ]);
  const sum = (of: (place: ScannedPlace) => number) => all.reduce((total, place) => total + of(place), 0);
  const findings = sum(({ found }) => found.length);
  const bytes = sum((place) => place.bytes).toLocaleString('en');
  return `${renderTable(columns, rows)}\n\n${all.length} places, ${bytes} bytes, ${findings} findings.`;
}
