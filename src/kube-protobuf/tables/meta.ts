/** The fields of the metadata of objects in protobuf. */
export const metaFields = {
  ObjectMeta: `
    name=1 generateName=2 namespace=3 selfLink=4 uid=5 resourceVersion=6 generation=7:int
    creationTimestamp=8:time deletionTimestamp=9:time deletionGracePeriodSeconds=10:int! labels=11%
    annotations=12% ownerReferences=13*:OwnerReference finalizers=14*
    managedFields=17*:ManagedFieldsEntry`,
  OwnerReference: 'kind=1! name=3! uid=4! apiVersion=5! controller=6:bool! blockOwnerDeletion=7:bool!',
  ManagedFieldsEntry: `
    manager=1 operation=2 apiVersion=3 time=4:time fieldsType=6 fieldsV1=7:json subresource=8`,
  ListMeta: 'selfLink=1 resourceVersion=2 continue=3 remainingItemCount=4:int!',
  LabelSelector: 'matchLabels=1% matchExpressions=2*:LabelSelectorRequirement',
  LabelSelectorRequirement: 'key=1! operator=2! values=3*',
} as const;
