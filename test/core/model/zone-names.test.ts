import { expect, test } from 'vitest';
import { isZone } from '../../../src/core/model/time.ts';
import windowsZones from '../../../src/core/model/windows-zones.json' with { type: 'json' };
import { ianaOfWindows, ianaZone, usualZoneOf } from '../../../src/core/model/zone-names.ts';

test('every Windows name means an IANA zone of this host, in any case', () => {
  for (const [name, zone] of Object.entries(windowsZones)) {
    expect([isZone(zone), ianaOfWindows(name), ianaOfWindows(name.toUpperCase())]).toEqual([true, zone, zone]);
  }
  expect([ianaZone('Europe/Rome'), ianaZone('Rome'), ianaOfWindows('Europe/Rome')]).toEqual([
    'Europe/Rome',
    null,
    null,
  ]);
});

test('only EST, MST and HST usually mean another zone', () => {
  expect(['EST', 'mst', 'HST'].map(usualZoneOf)).toEqual(['America/New_York', 'America/Denver', 'Pacific/Honolulu']);
  for (const zone of Object.values(windowsZones)) expect(usualZoneOf(zone)).toBeNull();
});
