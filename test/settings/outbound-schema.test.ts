import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPublicAddress } from '../../src/settings/outbound-schema.ts';

describe('a URL on the public internet', () => {
  test.each(['1.1.1.1', '93.184.215.14', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4002:402::200e'])(
    'is %s',
    (address) => expect(isPublicAddress(address)).toBe(true),
  );

  test.each([
    ['unspecified', '0.0.0.0'],
    ['in an own network', '10.1.2.3'],
    ['in an own network', '172.31.255.255'],
    ['in an own network', '192.168.1.10'],
    ['shared by a carrier', '100.64.0.1'],
    ["a cloud's metadata in shared space", '100.100.100.200'],
    ['loopback', '127.8.8.8'],
    ['link-local', '169.254.1.1'],
    ["a cloud's metadata", '169.254.169.254'],
    ["a cloud's own service", '168.63.129.16'],
    ['multicast', '224.0.0.251'],
    ['broadcast', '255.255.255.255'],
    ['documentation', '203.0.113.9'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['public with a zone', '2606:4700::1111%eth0'],
    ['unique local', 'fd00:ec2::254'],
    ['mapped', '::ffff:127.0.0.1'],
    ['mapped, also when the IPv4 is public', '::ffff:1.1.1.1'],
    ['compatible', '::7f00:1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['local NAT64', '64:ff9b:1::a00:1'],
    ['6to4', '2002:7f00:1::'],
    ['Teredo', '2001:0:7f00:1::'],
    ['documentation', '2001:db8::1'],
    ['multicast', 'ff02::1'],
    ['no address', 'localhost'],
    ['nothing', ''],
  ])('is not one that is %s: %s', (_, address) => expect(isPublicAddress(address)).toBe(false));

  test('is never an IPv4 of a private range in any spelling of IPv6', () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const own = fc.oneof(
      fc.tuple(fc.constant(10), byte, byte, byte),
      fc.tuple(fc.constant(127), byte, byte, byte),
      fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
      fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
    );
    const prefix = fc.constantFrom('', '::', '::ffff:', '64:ff9b::', '::ffff:0:');
    fc.assert(fc.property(prefix, own, (before, bytes) => !isPublicAddress(before + bytes.join('.'))));
  });
});
