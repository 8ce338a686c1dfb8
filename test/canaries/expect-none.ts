import { expect } from 'vitest';
import { type Canaries, saveReport, scanPlaces } from './scan.ts';

/** Expects that no place contains a canary, and that every planted one is found. Saves the figures for the table. */
export function expectNone(journey: string, places: ReadonlyMap<string, string>, canaries: Canaries): void {
  const scanned = scanPlaces(places, canaries);
  saveReport({ journey, places: scanned });
  for (const { place, bytes, found, planted, foundPlanted } of scanned) {
    expect(bytes, place).toBeGreaterThan(20);
    expect(found, place).toEqual([]);
    expect(foundPlanted, place).toBe(planted);
  }
}
