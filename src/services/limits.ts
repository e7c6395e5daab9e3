/** The bounds of what Services, their clients and the servers of names can make grow. */

export const servicesLimits = {
  endpointsPerSlice: 100,
  endpointsPerObject: 1000,
} as const;
