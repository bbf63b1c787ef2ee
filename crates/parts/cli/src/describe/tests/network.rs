//! How what runs is reached.

use insta::assert_snapshot;

use super::page;

#[test]
fn a_service_shows_who_is_behind_it() {
    assert_snapshot!(page("service"), @"
    Name:                        web
    Namespace:                   shop
    Labels:                      <none>
    Annotations:                 a: b
    Selector:                    app=web,tier=front
    Type:                        LoadBalancer
    IP Family Policy:            PreferDualStack
    IP Families:                 IPv4,IPv6
    IP:                          10.0.0.10
    IPs:                         10.0.0.10,fd00::10
    External IPs:                192.0.2.1
    Desired LoadBalancer IP:     192.0.2.9
    LoadBalancer Ingress:        192.0.2.9 (VIP), lb.example.com
    Port:                        http  80/TCP
    TargetPort:                  8080/TCP
    NodePort:                    http  30080/TCP
    Endpoints:                   10.1.0.1:8080,10.1.0.2:8080,10.1.0.3:8080 + 1 more...
    Port:                        <unset>  443/TCP
    TargetPort:                  https/TCP
    Endpoints:
    Session Affinity:            None
    External Traffic Policy:     Cluster
    Internal Traffic Policy:     Cluster
    HealthCheck NodePort:        31000
    LoadBalancer Source Ranges:  10.0.0.0/8,11.0.0.0/8
    Events:                      <none>
    ");
}

#[test]
fn a_service_may_be_a_name() {
    assert_snapshot!(page("service-external"), @"
    Name:              web
    Namespace:         shop
    Labels:            <none>
    Annotations:       <none>
    Selector:          <none>
    Type:              ExternalName
    IP Families:       <none>
    IP:
    IPs:               <none>
    External Name:     shop.example.com
    Session Affinity:  None
    Events:            <none>
    ");
}

#[test]
fn an_ingress_shows_where_paths_lead() {
    assert_snapshot!(page("ingress"), @r#"
    Name:             web
    Labels:           <none>
    Namespace:        shop
    Address:          192.0.2.9,lb.example.com
    Ingress Class:    nginx
    Default backend:  rest:80 (<error: services "rest" not found>)
    TLS:
      cert terminates a.example.com,b.example.com
      SNI routes c.example.com
    Rules:
      Host           Path  Backends
      ----           ----  --------
      a.example.com
                     /        web:http (10.1.0.1:8080,10.1.0.2:8080)
                     /files   APIGroup: k8s.example.com, Kind: Bucket, Name: files
      *
                        gone:81 (<error: services "gone" not found>)
    Annotations:     a: b
                     c:
                       two
                       lines
    Events:          <none>
    "#);
}

#[test]
fn an_ingress_without_paths_leads_to_its_default() {
    assert_snapshot!(page("ingress-bare"), @"
    Name:             web
    Labels:           <none>
    Namespace:        shop
    Address:
    Ingress Class:    <none>
    Default backend:  <default>
    Rules:
      Host        Path  Backends
      ----        ----  --------
      *           *     <default>
    Annotations:  <none>
    Events:       <none>
    ");
}

#[test]
fn a_slice_shows_its_endpoints() {
    assert_snapshot!(page("endpointslice"), @"
    Name:         web
    Namespace:    shop
    Labels:       kubernetes.io/service-name=web
    Annotations:  <none>
    AddressType:  IPv4
    Ports:
      Name     Port  Protocol
      ----     ----  --------
      http     8080  TCP
      <unset>  53    UDP
    Endpoints:
      - Addresses:  10.1.0.1, 10.1.0.2
        Conditions:
          Ready:    true
        Hostname:   web-0
        TargetRef:  Pod/web-0
        NodeName:   node-1
        Zone:       a
      - Addresses:  10.1.0.3
        Conditions:
          Ready:   <unset>
        Hostname:  <unset>
        NodeName:  <unset>
        Zone:      <unset>
    Events:        <none>
    ");
}

#[test]
fn a_slice_may_be_empty() {
    assert_snapshot!(page("endpointslice-bare"), @"
    Name:         web
    Namespace:    shop
    Labels:       <none>
    Annotations:  <none>
    AddressType:  IPv6
    Ports: <unset>
    Endpoints: <none>
    Events:  <none>
    ");
}
