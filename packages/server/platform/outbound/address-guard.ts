import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Subnet = [Address, number];

/** Global unicast; everything IPv6 that is routed on the internet lies in it. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whoever runs the service can open chosen subnets, so the setting is named wherever an address is refused. */
export const privateAddressReason =
  'lies in a private or reserved network, which only the operator of this service can open (OUTBOUND_ALLOWED_SUBNETS)';

/** An address that the service does not dial for a customer. Does not name the address: what a name resolves to inside our network is nobody's business. */
export class AddressRefused extends Error {
  override name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';

  constructor() {
    super(`The address ${privateAddressReason}.`);
  }
}

/**
 * Decides which addresses may be dialled on a customer's word. Only what is routed on the internet is; networks of
 * this house, of this machine, of the cloud's metadata, and every IPv6 form that embeds or translates IPv4 are not.
 * `allowedSubnets` opens chosen ones.
 */
export class AddressGuard {
  readonly #allowed: readonly Subnet[];

  constructor(allowedSubnets: readonly string[] = []) {
    this.#allowed = allowedSubnets.map((subnet) => ipaddr.parseCIDR(subnet) as Subnet);
  }

  /** Whether an address as the network stack takes it may be dialled. Whatever is not an address may not. */
  allows(address: string): boolean {
    const parsed = parse(address);
    return parsed !== undefined && (isRouted(parsed) || this.#isOpened(parsed));
  }

  /** Whether the operator opened a subnet that the address lies in. */
  opens(address: string): boolean {
    const parsed = parse(address);
    return parsed !== undefined && this.#isOpened(parsed);
  }

  /** Whether the host of a URL is an address that may not be dialled. A name may be: what it resolves to is checked when it is dialled. */
  refusesHost(host: string): boolean {
    const literal = host.replace(/^\[(.*)\]$/, '$1');
    return isIP(literal.replace(/%.*$/, '')) !== 0 && !this.allows(literal);
  }

  #isOpened(address: Address): boolean {
    return this.#allowed.some((subnet) => contains(subnet, address) || contains(subnet, unmapped(address)));
  }
}

/** IPv6 is brought into its canonical spelling first: the library takes `::10.0.0.1` for the mapped form, the network does not. */
function parse(address: string): Address | undefined {
  const text = address.replace(/%.*$/, '');
  const family = isIP(text);
  if (family === 0) return undefined;
  return ipaddr.parse(family === 6 ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text);
}

function isRouted(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || address.match(globalUnicast);
}

/** `::ffff:10.0.0.1` is dialled as 10.0.0.1, so a subnet that opens the one opens the other. */
function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function contains([network, bits]: Subnet, address: Address): boolean {
  if (network instanceof ipaddr.IPv4) return address instanceof ipaddr.IPv4 && address.match(network, bits);
  return address instanceof ipaddr.IPv6 && address.match(network, bits);
}
