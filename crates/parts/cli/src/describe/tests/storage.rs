//! What holds entries and data.

use insta::assert_snapshot;

use super::page;

#[test]
fn a_config_map_shows_what_it_holds() {
    assert_snapshot!(page("configmap"), @"
    Name:         web
    Namespace:    shop
    Labels:       app=web
    Annotations:  <none>

    Data
    ====
    colour:
    ----
    blue

    file.conf:
    ----
    one
    two



    BinaryData
    ====
    logo: 5 bytes

    Events:  <none>
    ");
}

#[test]
fn a_secret_shows_sizes_alone() {
    assert_snapshot!(page("secret"), @"
    Name:         web
    Namespace:    shop
    Labels:       <none>
    Annotations:  <none>

    Type:  Opaque

    Data
    ====
    other:     11 bytes
    password:  6 bytes
    ");
}

#[test]
fn the_token_of_an_account_is_a_secret_too() {
    assert_snapshot!(page("secret-token"), @"
    Name:         web
    Namespace:    shop
    Labels:       <none>
    Annotations:  <none>

    Type:  kubernetes.io/service-account-token

    Data
    ====
    ca.crt:  11 bytes
    token:   6 bytes
    ");
}

#[test]
fn a_claim_shows_who_uses_it() {
    assert_snapshot!(page("persistentvolumeclaim"), @"
    Name:          web
    Namespace:     shop
    StorageClass:  fast
    Status:        Bound
    Volume:        pv-1
    Labels:        <none>
    Annotations:   <none>
    Finalizers:    [kubernetes.io/pvc-protection]
    Capacity:      2Gi
    Access Modes:  RWO
    VolumeMode:    Filesystem
    DataSource:
      APIGroup:  snapshot.storage.k8s.io
      Kind:      VolumeSnapshot
      Name:      snap
    Used By:     user
    Conditions:
      Type       Status  LastProbeTime  LastTransitionTime                Reason  Message
      ----       ------  -------------  ------------------                ------  -------
      Resizing   True                   Wed, 31 Dec 2025 22:00:00 +0000   R       it grows
    Events:      <none>
    ");
}

#[test]
fn a_volume_shows_where_it_can_be_reached_from() {
    assert_snapshot!(page("persistentvolume"), @"
    Name:              web
    Labels:            a=b
    Annotations:       <none>
    Finalizers:        [kubernetes.io/pv-protection]
    StorageClass:      fast
    Status:            Bound
    Claim:             shop/data
    Reclaim Policy:    Retain
    Access Modes:      RWO,ROX
    VolumeMode:        Filesystem
    Capacity:          5Gi
    Node Affinity:
      Required Terms:
        Term 0:        zone in [a, b]
                       disk exists
    Message:           m
    Source:
        Type:      NFS (an NFS mount that lasts the lifetime of a pod)
        Server:    files
        Path:      /all
        ReadOnly:  false
    Events:        <none>
    ");
}

#[test]
fn a_volume_shows_its_driver() {
    assert_snapshot!(page("persistentvolume-local"), @"
    Name:            web
    Labels:          <none>
    Annotations:     <none>
    Finalizers:      []
    StorageClass:
    Status:          Available
    Claim:
    Reclaim Policy:  Delete
    Access Modes:    RWO
    VolumeMode:      Filesystem
    Capacity:        5Gi
    Node Affinity:   <none>
    Message:
    Source:
        Type:              CSI (a Container Storage Interface (CSI) volume source)
        Driver:            d
        FSType:            ext4
        VolumeHandle:      h
        ReadOnly:          false
        VolumeAttributes:      a=b
    Events:                <none>
    ");
}

#[test]
fn a_volume_may_be_a_folder_of_its_node() {
    assert_snapshot!(page("persistentvolume-host"), @"
    Name:              web
    Labels:            <none>
    Annotations:       <none>
    Finalizers:        []
    StorageClass:
    Status:            Available
    Claim:
    Reclaim Policy:    Retain
    Access Modes:      RWX
    Capacity:          1Gi
    Node Affinity:
      Required Terms:  <none>
    Message:
    Source:
        Type:          HostPath (bare host directory volume)
        Path:          /x
        HostPathType:  <none>
    Events:            <none>
    ");
}
